import { artists } from "../data";

export function ArtistList() {
  return (
    <section id="artists" className="artists py-8 text-center" aria-labelledby="artists-title">
      <h2 id="artists-title" className="text-2xl font-semibold m-0 text-center">
        Artists
      </h2>
      <p className="text-base text-muted mt-2 text-right">
        All of them live within a day of the hall.
      </p>
      <ul className="container card-grid list-none gap-4 mt-4">
        {artists.map((artist) => (
          <li key={artist.name} className="tile text-center">
            <img
              className="tile-image"
              src="/artist.svg"
              alt={`Portrait of ${artist.name}`}
            />
            <h3 className="text-lg font-semibold m-0">{artist.name}</h3>
            <p className="text-sm text-muted m-0">{artist.role}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
