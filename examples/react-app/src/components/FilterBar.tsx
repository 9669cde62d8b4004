import { genres } from "../data";
import { Button } from "./Button";

interface FilterBarProps {
  genre: string;
  onGenre: (genre: string) => void;
}

export function FilterBar({ genre, onGenre }: FilterBarProps) {
  return (
    <div className="flex flex-wrap items-center gap-2" role="group" aria-label="Filter by genre">
      {genres.map((name) => {
        const pressed = name === genre;
        return (
          <Button key={name} kind={pressed ? "primary" : "secondary"} pressed={pressed} onClick={() => onGenre(name)}>
            {name}
          </Button>
        );
      })}
    </div>
  );
}
