type NavItem = {
  href: string;
  label: string;
};

const NAV_ITEMS: NavItem[] = [
  { href: "#programme", label: "Programme" },
  { href: "#artists", label: "Artists" },
  { href: "#visit", label: "Visit" },
  { href: "#questions", label: "Questions" },
];

export function MainNav() {
  return (
    <nav className="site-nav" aria-label="Main navigation">
      <ul className="flex flex-wrap gap-4 list-none">
        {NAV_ITEMS.map(({ href, label }) => (
          <li key={href}>
            <a className="nav-link text-base" href={href}>
              {label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
