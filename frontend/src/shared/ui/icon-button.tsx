import type { ComponentProps } from "react";

import { cn } from "@/shared/lib/class-names";

type IconButtonProps = ComponentProps<"button"> & { readonly label: string };

/** A button that is only an icon; its label is its name and its tooltip. */
export function IconButton({ label, className, type, ...rest }: IconButtonProps) {
  return (
    <button
      type={type ?? "button"}
      aria-label={label}
      title={label}
      className={cn(
        "inline-grid size-8 shrink-0 place-items-center rounded-lg text-ink-faint hover:bg-hover hover:text-ink",
        "transition-colors disabled:pointer-events-none disabled:opacity-40",
        className,
      )}
      {...rest}
    />
  );
}
