import { useState } from "react";

export function Newsletter() {
  const [email, setEmail] = useState("");
  const [sent, setSent] = useState(false);
  return (
    <section className="newsletter py-8" aria-labelledby="letter-title">
      <div className="container">
        <h2 id="letter-title" className="text-base font-semibold m-0">
          One letter a month
        </h2>
        <form className="field flex flex-wrap items-center gap-2 mt-4">
          <input
            className="input"
            type="email"
            aria-label="E-mail address for the letter"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
          <button
            type="button"
            className="btn btn-pill"
            onClick={() => setSent(email.includes("@"))}
          >
            Subscribe
          </button>
        </form>
        <p className="text-sm text-muted m-0">{sent ? "Thank you." : "You can leave at any time."}</p>
      </div>
    </section>
  );
}
