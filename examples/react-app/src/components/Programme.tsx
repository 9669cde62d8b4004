import { useState } from "react";
import type { Concert } from "../data";
import { ConcertCard } from "./ConcertCard";
import { FilterBar } from "./FilterBar";
import { SearchBar } from "./SearchBar";

interface ProgrammeProps {
  concerts: Concert[];
  onChoose: (concert: Concert) => void;
}

export function Programme({ concerts, onChoose }: ProgrammeProps) {
  const [query, setQuery] = useState("");
  const [genre, setGenre] = useState("All");
  const shown = concerts.filter((concert) => {
    const text = `${concert.title} ${concert.ensemble}`.toLowerCase();
    return (genre === "All" || concert.genre === genre) && text.includes(query.toLowerCase());
  });
  return (
    <section id="programme" className="container py-8" aria-labelledby="programme-title">
      <h2 id="programme-title" className="text-sm font-semibold m-0">
        Programme
      </h2>
      <p className="text-base text-muted mt-2">{shown.length} concerts in March</p>
      <div className="flex flex-wrap items-center justify-between gap-4 mt-4">
        <FilterBar genre={genre} onGenre={setGenre} />
        <SearchBar query={query} onQuery={setQuery} />
      </div>
      <ul className="card-grid list-none gap-4 mt-4">
        {shown.map((concert) => (
          <ConcertCard key={concert.id} concert={concert} onChoose={onChoose} />
        ))}
      </ul>
    </section>
  );
}
