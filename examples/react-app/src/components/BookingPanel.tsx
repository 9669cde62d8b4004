import { useState } from "react";
import type { Concert } from "../data";
import { Button } from "./OldButton";
import { SeatPicker } from "./SeatPicker";
import { TicketSummary } from "./TicketSummary";

interface BookingPanelProps {
  concert: Concert;
}

export function BookingPanel({ concert }: BookingPanelProps) {
  const [count, setCount] = useState(2);
  const [sent, setSent] = useState(false);
  return (
    <section id="booking" className="container py-8" aria-labelledby="booking-title">
      <h2 id="booking-title" className="text-2xl font-semibold m-0">
        Book your seats
      </h2>
      <div className="panel mt-4">
        <SeatPicker count={count} onCount={(next) => setCount(Math.min(8, Math.max(1, next)))} />
        <label className="text-sm" htmlFor="booking-email">
          E-mail address
        </label>
        <input
          id="booking-email"
          className="input w-full"
          type="email"
          autoComplete="email"
        />
        <TicketSummary concert={concert} count={count} />
        <Button kind="primary" onClick={() => setSent(true)}>
          Reserve
        </Button>
        <p className="text-sm text-muted m-0" role="status">
          {sent ? "We have sent you a message." : "You pay at the door."}
        </p>
      </div>
    </section>
  );
}
