import { useId } from "react";
import { useTranslation } from "react-i18next";

import type { Choice, Question } from "@/features/chat/cards/questions";

type QuestionFieldProps = {
  readonly question: Question;
  readonly choice: Choice;
  readonly onChange: (choice: Choice) => void;
};

export function QuestionField({ question, choice, onChange }: QuestionFieldProps) {
  const { t } = useTranslation();
  const id = useId();
  const { isMultiple, options } = question;

  const pick = (label: string, isPicked: boolean) => {
    if (!isMultiple) {
      onChange({ labels: [label], other: "" });
      return;
    }
    const others = choice.labels.filter((name) => name !== label);
    onChange({ ...choice, labels: isPicked ? [...others, label] : others });
  };

  return (
    <fieldset>
      <legend className="pb-2">
        {question.header && <span className="block text-xs font-medium text-amber">{question.header}</span>}
        <span className="font-semibold">{question.question}</span>
        {isMultiple && <span className="block text-xs text-ink-soft">{t("question.pickSeveral")}</span>}
      </legend>
      <div className="space-y-1.5">
        {options.map(({ label, description }) => (
          <label
            key={label}
            className="flex cursor-pointer gap-2.5 rounded-lg border border-line bg-surface px-3 py-2 text-sm transition-colors has-checked:border-accent has-checked:bg-accent-wash"
          >
            <input
              type={isMultiple ? "checkbox" : "radio"}
              name={id}
              checked={choice.labels.includes(label)}
              onChange={(event) => pick(label, event.target.checked)}
              className="mt-1 shrink-0 accent-accent"
            />
            <span>
              <span className="font-medium">{label}</span>
              {description && <span className="block text-ink-soft">{description}</span>}
            </span>
          </label>
        ))}
        <input
          value={choice.other}
          onChange={(event) =>
            onChange({ labels: isMultiple ? choice.labels : [], other: event.target.value })
          }
          aria-label={t("question.otherLabel")}
          placeholder={t("question.other")}
          className="h-10 w-full rounded-lg border border-line bg-surface px-3 text-sm"
        />
      </div>
    </fieldset>
  );
}
