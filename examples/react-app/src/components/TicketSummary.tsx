import type { Concert } from "../data";

interface TicketSummaryProps {
  concert: Concert;
  count: number;
}

export function TicketSummary({ concert, count }: TicketSummaryProps) {
  return (
    <div className="summary" style={{ marginTop: "10px" }}>
      <h3 className="text-lg font-semibold m-0">Your order</h3>
      <p className="text-base mt-2">
        {count} × {concert.title}
      </p>
      <p className="text-lg font-bold mt-2">{count * concert.price} €</p>
    </div>
  );
}
