import { Moon } from "lucide-react";
import { useTranslation } from "react-i18next";

import { wakeSession } from "@/features/chat/session-commands";
import { useStatusText } from "@/features/chat/use-status-text";
import { useStatus, useTranscript } from "@/shared/store/use-transcript";
import { isRunning, lastStandingItem, type Transcript } from "@/shared/tape/transcript";

/** A notice that offers to resume has said that it is asleep. */
function isSaidAlready(transcript: Transcript): boolean {
  const item = lastStandingItem(transcript);
  return item?.kind === "notice" && item.code === "session_duration_reached";
}

/** What the session does while no turn is under way, if that is worth a word. It stands where nothing else does. */
export function QuietLine() {
  const { t } = useTranslation();
  const running = useTranscript(isRunning);
  const isSaid = useTranscript(isSaidAlready);
  const status = useStatus();
  const text = useStatusText(status);
  if (running) return null;
  const look = "relative flex h-7 items-center gap-2 pl-[2.375rem] text-xs text-ink-faint";
  switch (status.name) {
    case "hibernated":
      return isSaid ? null : (
        <div className={look} data-testid="quiet-line">
          <Moon size={13} aria-hidden className="absolute left-[0.65rem]" />
          <span>{t("status.hibernated")}</span>
          <button
            type="button"
            onClick={wakeSession}
            className="h-7 rounded-md px-1.5 font-medium text-ink-soft underline decoration-line-strong underline-offset-3 hover:text-ink"
          >
            {t("status.wake")}
          </button>
        </div>
      );
    case "preparing":
    case "server_shutting_down":
      return (
        <div className={look} data-testid="quiet-line">
          <span
            aria-hidden
            className="absolute left-[0.8rem] size-2 animate-pulse-soft rounded-full bg-accent"
          />
          <span>{status.name === "preparing" ? text : t("status.restarting")}</span>
        </div>
      );
    default:
      return null;
  }
}
