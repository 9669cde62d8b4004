import type { ReactNode } from "react";

interface ButtonProps {
  kind?: "primary" | "secondary";
  pressed?: boolean;
  onClick?: () => void;
  children: ReactNode;
}

export function Button({ kind = "primary", pressed, onClick, children }: ButtonProps) {
  return (
    <button
      type="button"
      className={kind === "primary" ? "btn btn-primary" : "btn btn-secondary"}
      aria-pressed={pressed}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
