import { useStatusText } from "@/features/chat/use-status-text";
import { useNow } from "@/shared/hooks/use-now";
import { cn } from "@/shared/lib/class-names";
import { formatSeconds } from "@/shared/lib/format";
import { useAppStore } from "@/shared/store/app-store";
import { toServerTime } from "@/shared/store/connection-slice";
import { useStatus } from "@/shared/store/use-transcript";

// Nobody needs a stopwatch for the first moments.
const showElapsedAfterMs = 2_000;

const attention: ReadonlySet<string> = new Set(["awaiting_permission", "retrying", "server_shutting_down"]);

/** The head of the tape: what is going on now, and since when. */
export function StatusLine({ since }: { readonly since: string | null }) {
  const status = useStatus();
  const clockAheadMs = useAppStore((state) => state.clockAheadMs);
  const isPaused = useAppStore((state) => state.connection.phase !== "open");
  const text = useStatusText(status);
  const now = useNow(1_000, !isPaused);
  const elapsedMs = since === null ? 0 : toServerTime(clockAheadMs, now) - Date.parse(since);
  const needsAttention = attention.has(status.name);
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
      <span className={cn(needsAttention && "text-amber")}>{text}</span>
      {elapsedMs >= showElapsedAfterMs && status.delayMs === null && (
        <span className="tabular-nums">{formatSeconds(elapsedMs)}</span>
      )}
    </div>
  );
}
