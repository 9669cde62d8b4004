export function Footer() {
  return (
    <footer className="site-footer p-6">
      <div className="container flex flex-wrap justify-between items-center gap-4">
        <p className="footer-note text-sm m-0">
          Quarry Hall is run by a charity.
        </p>
        <p className="footer-text text-sm m-0">
          Please read our{" "}
          <a className="footer-link" href="/terms">
            here
          </a>
        </p>
        <nav aria-label="Footer">
          <a className="footer-link text-sm" href="/contact">
            Contact
          </a>
        </nav>
      </div>
    </footer>
  );
}
