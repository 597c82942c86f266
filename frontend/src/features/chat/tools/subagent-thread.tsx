import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { useTranscript } from "@/shared/store/use-transcript";
import type { ToolItem } from "@/shared/tape/transcript";

type SubagentThreadProps = {
  readonly item: ToolItem;
  readonly renderItem: (key: string) => ReactNode;
};

/** What a subagent does, as a tape within the card of the call that started it. */
export function SubagentThread({ item, renderItem }: SubagentThreadProps) {
  const { t } = useTranslation();
  const childKeys = useTranscript((transcript) => transcript.childKeys[item.toolUseId]);
  if (!childKeys || childKeys.length === 0) return null;
  return (
    <section
      aria-label={t("tool.subagent", { type: item.agent?.type ?? "" })}
      className="mt-2 rounded-xl border border-line bg-surface/60 px-3 py-3"
    >
      {item.agent && (
        <p className="pb-2 text-xs text-ink-faint">{t("tool.subagent", { type: item.agent.type })}</p>
      )}
      <div className="tape text-[0.875rem]">{childKeys.map(renderItem)}</div>
    </section>
  );
}
