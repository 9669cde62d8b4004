const links = [
  { href: "#programme", label: "Programme" },
  { href: "#artists", label: "Artists" },
  { href: "#visit", label: "Visit" },
  { href: "#questions", label: "Questions" },
];

export function MainNav() {
  return (
    <nav className="site-nav">
      <ul className="flex flex-wrap gap-4 list-none">
        {links.map((link) => (
          <li key={link.href}>
            <a className="nav-link text-base" href={link.href}>
              {link.label}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
