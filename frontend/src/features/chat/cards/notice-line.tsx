import {
  Bell,
  Clock,
  FileX,
  FoldVertical,
  Info,
  MemoryStick,
  Puzzle,
  RotateCw,
  ShieldAlert,
  ShieldCheck,
  ShieldX,
  Wrench,
  type LucideIcon,
} from "lucide-react";
import { useTranslation } from "react-i18next";

import { RuleName } from "@/features/chat/cards/rule-name";
import { wakeSession } from "@/features/chat/session-commands";
import { toOwnName, toToolName } from "@/features/chat/tools/tool-summary";
import { TapeNode } from "@/features/chat/transcript/tape-node";
import { useStatus, useTranscript } from "@/shared/store/use-transcript";
import { lastStandingItem, type NoticeItem } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

// The codes that can stand on a tape, as docs/protocol.md lists them.
const icons: Readonly<Record<string, LucideIcon>> = {
  recovered: RotateCw,
  process_restarted: RotateCw,
  session_duration_warning: Clock,
  session_duration_reached: Clock,
  memory_restart: MemoryStick,
  memory_lost: MemoryStick,
  memory_cleared: MemoryStick,
  agent_memory_incomplete: MemoryStick,
  attachment_not_shown: FileX,
  plugin_not_loaded: Puzzle,
  profile_missing: Puzzle,
  tool_error: Wrench,
  tool_denied: ShieldX,
  tool_input_changed: ShieldCheck,
  prompt_flagged: ShieldAlert,
  notification: Bell,
  compaction: FoldVertical,
};

// The others name a time, a file or a plugin, which only the server's own words tell.
const told = [
  "recovered",
  "process_restarted",
  "session_duration_reached",
  "memory_restart",
  "memory_lost",
  "memory_cleared",
  "agent_memory_incomplete",
  "compaction",
] as const;

/** Something the platform did that is no failure, said quietly in its place. */
export function NoticeLine({ notice }: { readonly notice: NoticeItem }) {
  const { t } = useTranslation();
  const { code, message, tool } = notice;
  const Icon = icons[code] ?? Info;
  const toldCode = told.find((name) => name === code);
  return (
    <TapeNode icon={<Icon size={12} aria-hidden />}>
      <div className="flex min-h-[1.625rem] flex-wrap items-center gap-x-3 gap-y-1.5 text-sm text-ink-faint">
        <p className="min-w-0 break-words">
          {code === "prompt_flagged" && <span>{t("notice.prompt_flagged")} </span>}
          {tool && <ToolOf tool={tool} />}
          {toldCode ? t(`notice.${toldCode}`) : message} {notice.rule && <RuleName rule={notice.rule} />}
        </p>
        {code === "session_duration_reached" && <ResumeButton itemKey={notice.key} />}
      </div>
    </TapeNode>
  );
}

/** Which tool of which plugin it is about, before what happened to it. */
function ToolOf({ tool }: { readonly tool: NonNullable<NoticeItem["tool"]> }) {
  const { t } = useTranslation();
  const { name, plugin } = tool;
  return (
    <span className="font-medium text-ink-soft">
      {plugin === null
        ? t("notice.tool", { tool: toToolName(name) })
        : t("notice.toolOf", { tool: toOwnName(name), plugin })}{" "}
    </span>
  );
}

/** Offered while the conversation is still asleep because of it. */
function ResumeButton({ itemKey }: { readonly itemKey: string }) {
  const { t } = useTranslation();
  const isAsleep = useStatus().name === "hibernated";
  const isLast = useTranscript((transcript) => lastStandingItem(transcript)?.key === itemKey);
  if (!isAsleep || !isLast) return null;
  return (
    <Button size="small" onClick={wakeSession}>
      {t("notice.resume")}
    </Button>
  );
}
