import { useTranslation } from "react-i18next";

import { hasHiddenCharacters } from "@/shared/lib/visible-text";
import type { JsonObject } from "@/shared/tape/transcript";
import { VisibleText } from "@/shared/ui/visible-text";

/** The input of a call as it was sent: texts in full, everything else as JSON, hidden characters made visible. */
export function ExactInput({ input, label }: { readonly input: JsonObject; readonly label?: string }) {
  const { t } = useTranslation();
  const fields = Object.entries(input).map(([name, value]) => ({
    name,
    text: typeof value === "string" ? value : JSON.stringify(value, null, 2),
  }));
  const hasHidden = fields.some(({ name, text }) => hasHiddenCharacters(name + text));
  return (
    <div className="pt-3">
      <p className="pb-1.5 text-xs text-ink-soft">{label ?? t("permission.exactInput")}</p>
      <dl
        // A region that scrolls must be reachable with the keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        className="max-h-72 overflow-auto rounded-lg border border-amber-line bg-surface px-3.5 py-2.5 font-mono text-[0.8125rem] leading-[1.55]"
      >
        {fields.map(({ name, text }) => (
          <div key={name} className="py-0.5 sm:flex sm:gap-3">
            <dt className="shrink-0 text-ink-faint sm:w-24">
              <VisibleText text={name} />
            </dt>
            <dd className="min-w-0 break-words whitespace-pre-wrap [unicode-bidi:plaintext]">
              <VisibleText text={text} />
            </dd>
          </div>
        ))}
      </dl>
      {hasHidden && <p className="pt-1.5 text-xs font-medium text-red">{t("permission.hidden")}</p>}
    </div>
  );
}
