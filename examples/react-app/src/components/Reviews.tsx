import { reviews } from "../data";

export function Reviews() {
  return (
    <section className="container py-8" aria-labelledby="reviews-title">
      <h2 id="reviews-title" className="text-2xl font-semibold m-0">
        What visitors say
      </h2>
      <div className="flex flex-col gap-4 mt-4" style={{ width: "720px" }}>
        {reviews.map((review) => (
          <blockquote key={review.source} className="review m-0">
            <p className="review-quote text-lg m-0">{review.quote}</p>
            <cite className="text-sm text-muted">{review.source}</cite>
          </blockquote>
        ))}
      </div>
    </section>
  );
}
