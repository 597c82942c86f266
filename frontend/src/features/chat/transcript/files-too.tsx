import { useTranslation } from "react-i18next";

type FilesTooProps = { readonly isOn: boolean; readonly onChange: (isOn: boolean) => void };

/** Whether a rewind also puts the files back that the agent has changed since. */
export function FilesToo({ isOn, onChange }: FilesTooProps) {
  const { t } = useTranslation();
  return (
    <label className="flex items-center gap-2 text-sm text-ink-soft">
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
        className="size-4 accent-accent"
      />
      {t("rewind.files")}
    </label>
  );
}
