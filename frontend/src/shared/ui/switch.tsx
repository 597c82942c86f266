import { cn } from "@/shared/lib/class-names";

type SwitchProps = {
  readonly label: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isOn: boolean) => void;
};

/** On or off, at once. The knob's place says which, besides the colour. */
export function Switch({ label, isOn, isDisabled = false, onChange }: SwitchProps) {
  return (
    <button
      type="button"
      role="switch"
      aria-label={label}
      aria-checked={isOn}
      disabled={isDisabled}
      onClick={() => onChange(!isOn)}
      className={cn(
        "relative h-6 w-10 shrink-0 rounded-full border transition-colors disabled:opacity-50",
        isOn ? "border-accent bg-accent" : "border-line-strong bg-sunken",
      )}
    >
      <span
        aria-hidden
        className={cn(
          "absolute top-[3px] left-[3px] size-4 rounded-full transition-transform",
          isOn ? "translate-x-4 bg-accent-ink" : "bg-ink-faint",
        )}
      />
    </button>
  );
}
