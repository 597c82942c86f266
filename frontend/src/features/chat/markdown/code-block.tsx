import { useTranslation } from "react-i18next";

import { HighlightedCode } from "@/features/chat/markdown/highlighted-code";
import { CopyButton } from "@/shared/ui/copy-button";

type CodeBlockProps = {
  readonly code: string;
  /** The words after the fence; the first is the language. */
  readonly language: string;
  readonly isOpen: boolean;
};

export function CodeBlock({ code, language, isOpen }: CodeBlockProps) {
  const { t } = useTranslation();
  const name = language.trim().split(/\s/)[0] ?? "";
  return (
    <figure className="my-4 overflow-hidden rounded-xl border border-line bg-sunken">
      <figcaption className="flex items-center justify-between border-b border-line py-1 pr-1.5 pl-4 text-xs text-ink-faint">
        <span>{name || t("code.plain")}</span>
        <CopyButton text={code} label={t("code.copyCode")} />
      </figcaption>
      <pre
        // A region that scrolls must be reachable with the keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        className="overflow-x-auto px-4 py-3 font-mono text-[0.8125rem] leading-[1.6]"
      >
        <HighlightedCode code={code} language={isOpen ? "" : name} />
      </pre>
    </figure>
  );
}
