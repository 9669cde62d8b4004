export function Hero() {
  return (
    <section className="hero py-8" aria-labelledby="hero-title">
      <div className="container hero-grid gap-6">
        <div>
          <h1 id="hero-title" className="text-4xl font-bold m-0">
            Music in an old stone quarry
          </h1>
          <p className="hero-lead mt-4">
            Four concerts in March. Every seat is less than twenty metres from the stage.
          </p>
          <div className="flex flex-wrap gap-4 mt-4">
            <a className="btn btn-primary" href="#programme">
              See the programme
            </a>
            <a className="btn btn-secondary" href="#visit">
              Plan a visit
            </a>
          </div>
        </div>
        <img
          className="wide-image"
          src="/hall.svg"
          alt="image"
        />
      </div>
    </section>
  );
}
