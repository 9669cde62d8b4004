import type { ReactNode } from "react";

interface ButtonProps {
  kind?: "primary" | "secondary";
  onClick?: () => void;
  children: ReactNode;
}

export function Button({ onClick, children }: ButtonProps) {
  return (
    <button type="button" className="old-button" onClick={onClick}>
      {children}
    </button>
  );
}
