import { useTranslation } from "react-i18next";

import { useNow } from "@/shared/hooks/use-now";
import { cn } from "@/shared/lib/class-names";
import { formatDuration, formatSeconds } from "@/shared/lib/format";
import { useAppStore } from "@/shared/store/app-store";
import { toServerTime } from "@/shared/store/connection-slice";
import { useTranscript } from "@/shared/store/use-transcript";
import type { StatusInfo } from "@/shared/tape/transcript";

// Nobody needs a stopwatch for the first moments.
const showElapsedAfterMs = 2_000;

function useStatusText(): (status: StatusInfo) => string {
  const { t } = useTranslation();
  return (status) => {
    if (status.name === "idle" || status.name === "hibernated" || status.name === "recovered") {
      return t("status.working");
    }
    if (status.name !== "retrying") return t(`status.${status.name}`);
    const { attempt, maxAttempts: max, delayMs } = status;
    if (attempt === null || max === null) return t("status.retryingPlain");
    if (!delayMs) return t("status.retrying", { attempt, max });
    return t("status.retryingIn", { attempt, max, delay: formatDuration(delayMs) });
  };
}

/** The head of the tape: what is going on now, and since when. */
export function StatusLine({ since }: { readonly since: string | null }) {
  const status = useTranscript((transcript) => transcript.status);
  const clockAheadMs = useAppStore((state) => state.clockAheadMs);
  const isPaused = useAppStore((state) => state.connection.phase !== "open");
  const toText = useStatusText();
  const now = useNow(1_000, !isPaused);
  const elapsedMs = since === null ? 0 : toServerTime(clockAheadMs, now) - Date.parse(since);
  const needsAttention = status.name === "awaiting_permission" || status.name === "retrying";
  return (
    <div
      className="relative flex min-h-[1.625rem] items-center gap-2 text-sm text-ink-faint"
      data-testid="status-line"
    >
      <span
        aria-hidden
        className={cn(
          "absolute top-[0.5rem] -left-[1.625rem] size-2.5 rounded-full ring-4 ring-canvas",
          needsAttention ? "bg-amber" : "bg-accent",
          !isPaused && "animate-pulse-soft",
        )}
      />
      <span className={cn(needsAttention && "text-amber")}>{toText(status)}</span>
      {elapsedMs >= showElapsedAfterMs && <span className="tabular-nums">{formatSeconds(elapsedMs)}</span>}
    </div>
  );
}
