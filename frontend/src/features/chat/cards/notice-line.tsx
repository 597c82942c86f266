import { Clock, FileX, Info, MemoryStick, RotateCw, type LucideIcon } from "lucide-react";
import { useTranslation } from "react-i18next";

import { wakeSession } from "@/features/chat/session-commands";
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
};

// The others name a time or a file, which only the server's own words tell.
const told = [
  "recovered",
  "process_restarted",
  "session_duration_reached",
  "memory_restart",
  "memory_lost",
  "memory_cleared",
  "agent_memory_incomplete",
] as const;

/** Something the platform did that is no failure, said quietly in its place. */
export function NoticeLine({ notice }: { readonly notice: NoticeItem }) {
  const { t } = useTranslation();
  const { code, message } = notice;
  const Icon = icons[code] ?? Info;
  const toldCode = told.find((name) => name === code);
  return (
    <TapeNode icon={<Icon size={12} aria-hidden />}>
      <div className="flex min-h-[1.625rem] flex-wrap items-center gap-x-3 gap-y-1.5 text-sm text-ink-faint">
        <p>{toldCode ? t(`notice.${toldCode}`) : message}</p>
        {code === "session_duration_reached" && <ResumeButton itemKey={notice.key} />}
      </div>
    </TapeNode>
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
