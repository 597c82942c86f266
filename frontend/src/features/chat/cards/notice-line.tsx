import { Clock, Info, MemoryStick, RotateCw, type LucideIcon } from "lucide-react";
import { useTranslation } from "react-i18next";

import { wakeSession } from "@/features/chat/session-commands";
import { TapeNode } from "@/features/chat/transcript/tape-node";
import { useStatus, useTranscript } from "@/shared/store/use-transcript";
import { lastStandingItem, type NoticeItem } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

// The codes that can stand on a tape, as docs/protocol.md lists them.
const icons = {
  recovered: RotateCw,
  process_restarted: RotateCw,
  session_duration_reached: Clock,
  memory_restart: MemoryStick,
  memory_lost: MemoryStick,
} as const satisfies Readonly<Record<string, LucideIcon>>;

// It says in how many minutes, which only the server's own words tell.
const timed = "session_duration_warning";

const isKnown = (code: string): code is keyof typeof icons => Object.hasOwn(icons, code);

/** Something the platform did that is no failure, said quietly in its place. */
export function NoticeLine({ notice }: { readonly notice: NoticeItem }) {
  const { t } = useTranslation();
  const { code, message } = notice;
  const Icon = isKnown(code) ? icons[code] : code === timed ? Clock : Info;
  return (
    <TapeNode icon={<Icon size={12} aria-hidden />}>
      <div className="flex min-h-[1.625rem] flex-wrap items-center gap-x-3 gap-y-1.5 text-sm text-ink-faint">
        <p>{isKnown(code) ? t(`notice.${code}`) : message}</p>
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
