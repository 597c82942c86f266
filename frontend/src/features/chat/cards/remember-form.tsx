import { useId, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/shared/ui/button";

type RememberFormProps = {
  readonly suggestions: readonly string[];
  readonly onSend: (remember: "session" | "always", suggestion: number) => void;
  readonly onCancel: () => void;
};

/** Allows a call and those like it from now on: which they are, and for how long. The narrowest is chosen already. */
export function RememberForm({ suggestions, onSend, onCancel }: RememberFormProps) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState(0);
  const name = useId();
  return (
    <div className="space-y-3 pt-3">
      <fieldset className="space-y-1.5">
        <legend className="pb-1.5 text-sm font-medium">{t("permission.rememberWhat")}</legend>
        {suggestions.map((text, index) => (
          <label
            key={text}
            className="flex cursor-pointer gap-2.5 rounded-lg border border-line bg-surface px-3 py-2 text-sm transition-colors has-checked:border-accent has-checked:bg-accent-wash"
          >
            <input
              type="radio"
              name={name}
              checked={index === chosen}
              onChange={() => setChosen(index)}
              className="mt-1 shrink-0 accent-accent"
            />
            <span className="min-w-0 break-words">{text}</span>
          </label>
        ))}
      </fieldset>
      <div className="flex flex-wrap gap-2">
        <Button size="small" look="primary" onClick={() => onSend("session", chosen)}>
          {t("permission.forSession")}
        </Button>
        <Button size="small" onClick={() => onSend("always", chosen)}>
          {t("permission.always")}
        </Button>
        <Button size="small" look="quiet" onClick={onCancel}>
          {t("permission.cancel")}
        </Button>
      </div>
    </div>
  );
}
