import { Icon } from "./Icon";

interface SearchBarProps {
  query: string;
  onQuery: (query: string) => void;
}

export function SearchBar({ query, onQuery }: SearchBarProps) {
  return (
    <form className="search flex items-center gap-2" role="search">
      <input
        className="input w-full"
        type="search"
        aria-label="Search the programme"
        placeholder="Title or ensemble"
        value={query}
        onChange={(event) => onQuery(event.target.value)}
      />
      <button type="submit" className="btn btn-icon">
        <Icon name="search" />
      </button>
    </form>
  );
}
