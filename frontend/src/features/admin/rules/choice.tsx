/** A choice among a few, with its label above it. */
type ChoiceProps<T extends string> = {
  readonly label: string;
  readonly value: T;
  readonly options: readonly T[];
  readonly toText: (option: T) => string;
  readonly onChange: (option: T) => void;
};

export function Choice<T extends string>({ label, value, options, toText, onChange }: ChoiceProps<T>) {
  return (
    <label className="block text-sm font-medium text-ink-soft">
      <span className="mb-1.5 block">{label}</span>
      <select
        value={value}
        onChange={({ target }) => onChange(options.find((option) => option === target.value) ?? value)}
        className="h-11 rounded-lg border border-line-strong bg-surface px-2.5 font-normal text-ink"
      >
        {options.map((option) => (
          <option key={option} value={option}>
            {toText(option)}
          </option>
        ))}
      </select>
    </label>
  );
}
