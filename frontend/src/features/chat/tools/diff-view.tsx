import { diffLines } from "diff";
import { useTranslation } from "react-i18next";

import { cn } from "@/shared/lib/class-names";

type DiffViewProps = { readonly before: string; readonly after: string };
type Line = { readonly sign: "+" | "-" | " "; readonly text: string };

function toLines(before: string, after: string): readonly Line[] {
  return diffLines(before, after).flatMap(({ value, added, removed }) => {
    const sign = added ? "+" : removed ? "-" : " ";
    return value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): Line => ({ sign, text }));
  });
}

const looks = {
  "+": "bg-green-wash text-green",
  "-": "bg-red-wash text-red",
  " ": "text-ink-soft",
};

/** What an edit changes. Added and removed lines carry a sign as well as a colour. */
export function DiffView({ before, after }: DiffViewProps) {
  const { t } = useTranslation();
  const lines = toLines(before, after);
  const count = (sign: Line["sign"]) => lines.filter((line) => line.sign === sign).length;
  return (
    <div
      role="group"
      aria-label={t("tool.changes")}
      className="overflow-hidden rounded-xl border border-line bg-sunken"
    >
      <header className="flex gap-3 px-3.5 py-1.5 text-xs text-ink-faint tabular-nums">
        <span>{t("tool.added", { count: count("+") })}</span>
        <span>{t("tool.removed", { count: count("-") })}</span>
      </header>
      <div className="overflow-x-auto pb-2 font-mono text-[0.8125rem] leading-[1.6]">
        <div className="w-max min-w-full">
          {lines.map((line, index) => (
            <div key={index} className={cn("px-3.5 whitespace-pre", looks[line.sign])}>
              <span className="inline-block w-5 select-none">{line.sign}</span>
              {line.text}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
