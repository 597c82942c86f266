import { Check } from "lucide-react";
import type { ReactNode } from "react";

export type Option<Value extends string> = {
  readonly value: Value;
  readonly name: string;
  readonly help: string | null;
  readonly icon?: ReactNode;
};

type OptionListProps<Value extends string> = {
  readonly label: string;
  readonly options: readonly Option<Value>[];
  readonly current: string | null;
  readonly onChoose: (value: Value) => void;
};

/** Choices of which one holds, each with a line that says what it means. */
export function OptionList<Value extends string>({
  label,
  options,
  current,
  onChoose,
}: OptionListProps<Value>) {
  return (
    <ul aria-label={label}>
      {options.map(({ value, name, help, icon }) => (
        <li key={value}>
          <button
            type="button"
            aria-pressed={value === current}
            onClick={() => onChoose(value)}
            className="flex w-full items-start gap-2.5 rounded-xl px-3 py-2 text-left hover:bg-hover focus-visible:bg-hover"
          >
            {icon && <span className="mt-[3px] shrink-0 text-ink-faint">{icon}</span>}
            <span className="min-w-0 flex-1">
              <span className="block text-sm leading-snug font-medium break-words">{name}</span>
              {help !== null && <span className="block text-xs leading-snug text-ink-faint">{help}</span>}
            </span>
            {value === current && <Check size={15} aria-hidden className="mt-[3px] shrink-0 text-accent" />}
          </button>
        </li>
      ))}
    </ul>
  );
}
