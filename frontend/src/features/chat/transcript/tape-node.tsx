import type { ReactNode } from "react";

import { cn } from "@/shared/lib/class-names";

type TapeNodeProps = {
  readonly icon: ReactNode;
  readonly className?: string | undefined;
  readonly children: ReactNode;
};

/** One event on the tape: its mark sits on the line, what it says stands beside it. */
export function TapeNode({ icon, className, children }: TapeNodeProps) {
  return (
    <div className="relative">
      <span
        aria-hidden
        className={cn(
          "absolute top-0 -left-[2.125rem] grid size-[1.625rem] place-items-center rounded-full border bg-canvas",
          className ?? "border-line text-ink-faint",
        )}
      >
        {icon}
      </span>
      {children}
    </div>
  );
}
