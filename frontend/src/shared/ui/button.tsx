import type { ComponentProps } from "react";

import { cn } from "@/shared/lib/class-names";

type ButtonProps = ComponentProps<"button"> & {
  readonly look?: "primary" | "secondary" | "quiet" | "danger";
  readonly size?: "small" | "normal";
};

const looks = {
  primary: "bg-accent text-accent-ink hover:bg-accent-hover",
  secondary: "border border-line-strong bg-surface text-ink hover:bg-hover",
  quiet: "text-ink-soft hover:bg-hover hover:text-ink",
  danger: "border border-red-line bg-surface text-red hover:bg-red-wash",
};

const sizes = { small: "h-8 gap-1.5 px-3 text-[0.8125rem]", normal: "h-10 gap-2 px-4" };

export function Button({ look = "secondary", size = "normal", className, type, ...rest }: ButtonProps) {
  return (
    <button
      type={type ?? "button"}
      className={cn(
        "inline-flex shrink-0 items-center justify-center rounded-lg font-medium whitespace-nowrap transition-colors",
        "disabled:pointer-events-none disabled:opacity-50",
        looks[look],
        sizes[size],
        className,
      )}
      {...rest}
    />
  );
}
