import { memo } from "react";

import { ErrorCard } from "@/features/chat/cards/error-card";
import { NoticeLine } from "@/features/chat/cards/notice-line";
import { SubagentThread } from "@/features/chat/tools/subagent-thread";
import { ToolCard } from "@/features/chat/tools/tool-card";
import { TextBlock } from "@/features/chat/transcript/text-block";
import { ThinkingBlock } from "@/features/chat/transcript/thinking-block";
import { useTranscript } from "@/shared/store/use-transcript";

type ItemViewProps = {
  readonly itemKey: string;
  /** Shown inside the card of the call that started the subagent. */
  readonly isNested?: boolean;
};

function ItemViewInner({ itemKey, isNested = false }: ItemViewProps) {
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
      return <NoticeLine notice={item} />;
  }
}

export const ItemView = memo(ItemViewInner);
