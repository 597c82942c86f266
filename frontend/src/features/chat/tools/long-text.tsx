import { useState } from "react";
import { useTranslation } from "react-i18next";

import { HighlightedCode } from "@/features/chat/markdown/highlighted-code";
import { cn } from "@/shared/lib/class-names";
import { CopyButton } from "@/shared/ui/copy-button";

const previewLines = 24;

type LongTextProps = {
  readonly label: string;
  readonly text: string;
  readonly language?: string;
  readonly isError?: boolean;
};

/** Input or output of a tool in fixed width: the first lines, the rest on demand. */
export function LongText({ label, text, language = "", isError = false }: LongTextProps) {
  const { t } = useTranslation();
  const [isWhole, setIsWhole] = useState(false);
  const lines = text.split("\n");
  const hiddenCount = isWhole ? 0 : Math.max(0, lines.length - previewLines);
  const shown = hiddenCount === 0 ? text : lines.slice(0, previewLines).join("\n");
  return (
    <div
      role="group"
      aria-label={label}
      className={cn(
        "overflow-hidden rounded-xl border bg-sunken",
        isError ? "border-red-line" : "border-line",
      )}
    >
      <header className="flex items-center justify-between pt-1 pr-1.5 pl-3.5 text-xs text-ink-faint">
        <span>{label}</span>
        <CopyButton text={text} label={t("code.copy")} />
      </header>
      <pre
        // A region that scrolls must be reachable with the keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        className="max-h-96 overflow-auto px-3.5 pt-0.5 pb-3 font-mono text-[0.8125rem] leading-[1.55] break-words whitespace-pre-wrap"
      >
        <HighlightedCode code={shown} language={language} />
      </pre>
      {hiddenCount > 0 && (
        <button
          type="button"
          onClick={() => setIsWhole(true)}
          className="w-full border-t border-line py-1.5 text-xs text-ink-soft hover:bg-hover"
        >
          {t("tool.linesHidden", { count: hiddenCount })}
        </button>
      )}
    </div>
  );
}
