import type { ComponentProps } from "react";

import { cn } from "@/shared/lib/class-names";

type TextFieldProps = ComponentProps<"input"> & { readonly id: string; readonly label: string };

/** An input with its label above it; what is typed is a name or a password, never prose. */
export function TextField({ id, label, className, ...rest }: TextFieldProps) {
  return (
    <div className="space-y-1.5">
      <label htmlFor={id} className="block text-sm font-medium text-ink-soft">
        {label}
      </label>
      <input
        id={id}
        name={id}
        autoCapitalize="none"
        spellCheck={false}
        className={cn("h-11 w-full rounded-lg border border-line-strong bg-surface px-3.5", className)}
        {...rest}
      />
    </div>
  );
}
