export function VenueInfo() {
  return (
    <section id="visit" className="container py-8" aria-labelledby="visit-title">
      <h2 id="visit-title" className="text-2xl font-semibold m-0">
        The hall
      </h2>
      <img
        className="wide-image mt-4"
        src="/map.svg"
        alt="Map of the way from the station to the hall"
      />
      <div className="fact-grid gap-4 mt-4">
        <div className="tile text-center">
          <h3 className="text-lg font-semibold m-0">412 seats</h3>
          <p className="text-sm text-muted m-0">All of them with arms</p>
        </div>
        <div className="tile text-left">
          <h3 className="text-lg font-semibold m-0">Step-free</h3>
          <p className="text-sm text-muted m-0">Stalls, foyer and bar</p>
        </div>
        <div className="tile text-center">
          <h3 className="text-lg font-semibold m-0">Tram 4</h3>
          <p className="text-sm text-muted m-0">Five minutes on foot</p>
        </div>
      </div>
    </section>
  );
}
