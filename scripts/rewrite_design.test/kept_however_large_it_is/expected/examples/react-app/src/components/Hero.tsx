const HERO_TITLE_ID = "hero-title";

const actions = [
  { href: "#programme", label: "See the programme", primary: true },
  { href: "#visit", label: "Plan a visit", primary: false },
];

function HeroActions() {
  return (
    <div className="flex flex-wrap gap-4 mt-4">
      {actions.map(({ href, label, primary }) => (
        <a key={href} className={primary ? "btn btn-primary" : "btn btn-secondary"} href={href}>
          {label}
        </a>
      ))}
    </div>
  );
}

export function Hero() {
  return (
    <section className="hero py-8" aria-labelledby={HERO_TITLE_ID}>
      <div className="container hero-grid gap-6">
        <div className="flex flex-col">
          <h1 id={HERO_TITLE_ID} className="text-4xl font-bold m-0">
            Music in an old stone quarry
          </h1>
          <p className="hero-lead mt-4">
            Four concerts in March. Every seat is less than twenty metres from the stage.
          </p>
          <HeroActions />
        </div>
        <figure className="m-0">
          <img
            className="wide-image"
            src="/hall.svg"
            alt="The hall at the foot of two slate walls, with the stage in the middle"
          />
        </figure>
      </div>
    </section>
  );
}
