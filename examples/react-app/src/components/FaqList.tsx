import { faqs } from "../data";

export function FaqList() {
  return (
    <section id="questions" className="container py-8" aria-labelledby="faq-title">
      <h2 id="faq-title" className="text-2xl font-normal m-0">
        Questions
      </h2>
      <div className="flex flex-col gap-2 mt-4">
        {faqs.map((faq) => (
          <details key={faq.question} className="faq">
            <summary className="text-base font-semibold">{faq.question}</summary>
            <p className="text-base text-muted mt-2">{faq.answer}</p>
          </details>
        ))}
      </div>
    </section>
  );
}
