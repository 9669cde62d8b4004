import { MainNav } from "./MainNav";

export function Header() {
  return (
    <header className="site-header p-4">
      <a className="skip-link text-sm" href="#main">
        Skip to the programme
      </a>
      <div className="container flex flex-wrap justify-between items-center gap-4">
        <a className="brand text-xl font-bold" href="/">
          Quarry Hall
        </a>
        <MainNav />
        <a className="btn btn-secondary" href="#booking">
          Book a seat
        </a>
      </div>
    </header>
  );
}
