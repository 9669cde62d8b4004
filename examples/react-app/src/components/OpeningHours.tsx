export function OpeningHours() {
  return (
    <section className="container py-8" aria-labelledby="hours-title">
      <h2 id="hours-title" className="text-2xl font-semibold m-0">
        Box office
      </h2>
      <ul className="hours list-none mt-4">
        <li className="hours-row flex justify-between items-center">
          <span className="text-base">Monday to Friday</span>
          <span className="text-base font-semibold">11 to 18</span>
        </li>
        <li className="hours-row flex justify-between items-start">
          <span className="text-base">Saturday</span>
          <span className="text-base font-semibold">10 to 14</span>
        </li>
        <li className="hours-row flex justify-between items-center">
          <span className="text-base">Concert days</span>
          <span className="text-base font-semibold">until the start</span>
        </li>
      </ul>
    </section>
  );
}
