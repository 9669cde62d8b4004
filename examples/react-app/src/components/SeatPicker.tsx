import { Icon } from "./Icon";

interface SeatPickerProps {
  count: number;
  onCount: (count: number) => void;
}

export function SeatPicker({ count, onCount }: SeatPickerProps) {
  return (
    <div className="flex items-center gap-4" role="group" aria-label="Number of seats">
      <button type="button" className="btn btn-icon" aria-label="One seat less" onClick={() => onCount(count - 1)}>
        <Icon name="minus" />
      </button>
      <output className="seat-count text-lg">{count}</output>
      <button type="button" className="btn btn-icon" aria-label="One seat more" onClick={() => onCount(count + 1)}>
        <Icon name="plus" />
      </button>
    </div>
  );
}
