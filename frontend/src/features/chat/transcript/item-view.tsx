import { RotateCw } from "lucide-react";
import { memo } from "react";
import { useTranslation } from "react-i18next";

import { ErrorCard } from "@/features/chat/cards/error-card";
import { SubagentThread } from "@/features/chat/tools/subagent-thread";
import { ToolCard } from "@/features/chat/tools/tool-card";
import { TapeNode } from "@/features/chat/transcript/tape-node";
import { TextBlock } from "@/features/chat/transcript/text-block";
import { ThinkingBlock } from "@/features/chat/transcript/thinking-block";
import { useTranscript } from "@/shared/store/use-transcript";

type ItemViewProps = {
  readonly itemKey: string;
  /** Shown inside the card of the call that started the subagent. */
  readonly isNested?: boolean;
};

function ItemViewInner({ itemKey, isNested = false }: ItemViewProps) {
  const { t } = useTranslation();
  const item = useTranscript((transcript) => transcript.items[itemKey]);
  const isElsewhere = useTranscript(
    (transcript) => !isNested && `tool:${transcript.items[itemKey]?.parentId ?? ""}` in transcript.items,
  );
  if (!item || isElsewhere) return null;
  switch (item.kind) {
    case "text":
      return <TextBlock block={item} />;
    case "thinking":
      return <ThinkingBlock block={item} />;
    case "tool":
      return (
        <ToolCard item={item}>
          <SubagentThread item={item} renderItem={(key) => <ItemView key={key} itemKey={key} isNested />} />
        </ToolCard>
      );
    case "error":
      return <ErrorCard error={item} />;
    case "notice":
      return (
        <TapeNode icon={<RotateCw size={12} aria-hidden />}>
          <p className="text-sm text-ink-faint">{t("block.recovered")}</p>
        </TapeNode>
      );
  }
}

export const ItemView = memo(ItemViewInner);
