import { Brain, ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import { TapeNode } from "@/features/chat/transcript/tape-node";
import { CutOffMark } from "@/features/chat/transcript/text-block";
import { cn } from "@/shared/lib/class-names";
import { formatDuration } from "@/shared/lib/format";
import type { BlockItem } from "@/shared/tape/transcript";

// Shorter than this the time says nothing, and after compaction of the deltas it is not known.
const worthMentioningMs = 1_000;

export function ThinkingBlock({ block }: { readonly block: BlockItem }) {
  const { t } = useTranslation();
  const isStreaming = block.state === "streaming";
  const tookMs = block.endedAt === null ? 0 : Date.parse(block.endedAt) - Date.parse(block.startedAt);
  const label = isStreaming
    ? t("block.thinking")
    : tookMs >= worthMentioningMs
      ? t("block.thoughtFor", { duration: formatDuration(tookMs) })
      : t("block.thought");
  return (
    <TapeNode icon={<Brain size={13} aria-hidden />}>
      <details className="group">
        <summary className="inline-flex h-[1.625rem] list-none items-center gap-1.5 rounded-md text-sm text-ink-faint transition-colors hover:text-ink">
          <span className={cn(isStreaming && "animate-pulse-soft")}>{label}</span>
          <ChevronRight size={13} aria-hidden className="transition-transform group-open:rotate-90" />
        </summary>
        <div className="mt-2 border-l-2 border-line pl-4 text-sm leading-relaxed whitespace-pre-wrap text-ink-soft">
          {block.content}
          {block.state === "cut_off" && <CutOffMark label={t("block.cutOff")} />}
        </div>
      </details>
    </TapeNode>
  );
}
