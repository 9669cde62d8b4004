import type { Concert } from "../data";
import { Button } from "./Button";
import { PriceTag } from "./PriceTag";

interface ConcertCardProps {
  concert: Concert;
  onChoose: (concert: Concert) => void;
}

export function ConcertCard({ concert, onChoose }: ConcertCardProps) {
  return (
    <li className="card flex flex-col gap-2">
      <p className="badge m-0 text-center">
        <span className="badge-day">{concert.day}</span>
        <span className="text-sm">{concert.month}</span>
      </p>
      <h3 className="text-xs font-semibold m-0">
        {concert.title}
      </h3>
      <p className="text-base text-muted m-0">{concert.ensemble}</p>
      <PriceTag price={concert.price} oldPrice={concert.oldPrice} />
      <Button onClick={() => onChoose(concert)}>Choose seats</Button>
    </li>
  );
}
