import { useState } from "react";
import { Icon } from "./Icon";

interface NoticeProps {
  text: string;
}

export function Notice({ text }: NoticeProps) {
  const [open, setOpen] = useState(true);
  if (!open) {
    return null;
  }
  return (
    <div className="notice flex justify-between items-center p-4" role="status">
      <p className="notice-text m-0">{text}</p>
      <button type="button" className="btn btn-icon" aria-label="Close the notice" onClick={() => setOpen(false)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
