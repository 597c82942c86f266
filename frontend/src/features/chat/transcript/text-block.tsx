import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";

import type { BlockItem } from "@/shared/tape/transcript";

const Markdown = lazy(() =>
  import("@/features/chat/markdown/markdown").then((module) => ({ default: module.Markdown })),
);

type TextBlockProps = { readonly block: BlockItem };

export function TextBlock({ block }: TextBlockProps) {
  const { t } = useTranslation();
  return (
    <div data-testid="text-block">
      <Suspense fallback={<div className="whitespace-pre-wrap">{block.content}</div>}>
        <Markdown text={block.content} isGrowing={block.state === "streaming"} />
      </Suspense>
      {block.state === "cut_off" && <CutOffMark label={t("block.cutOff")} />}
    </div>
  );
}

export function CutOffMark({ label }: { readonly label: string }) {
  return (
    <p className="mt-2 flex items-center gap-2 text-xs text-ink-faint">
      <span aria-hidden className="w-6 border-t border-dashed border-line-strong" />
      {label}
    </p>
  );
}
