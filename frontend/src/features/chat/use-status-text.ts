import { useTranslation } from "react-i18next";

import { useNow } from "@/shared/hooks/use-now";
import { formatSeconds } from "@/shared/lib/format";
import { useAppStore } from "@/shared/store/app-store";
import { toServerTime } from "@/shared/store/connection-slice";
import type { StatusInfo } from "@/shared/tape/transcript";

/** Time until a status that lasts `delayMs` is over; null if it is over, or has no such time. */
function useTimeLeft({ since, delayMs }: StatusInfo): string | null {
  const clockAheadMs = useAppStore((state) => state.clockAheadMs);
  const isTimed = since !== null && delayMs !== null;
  const now = useNow(500, isTimed);
  if (!isTimed) return null;
  const leftMs = Date.parse(since) + delayMs - toServerTime(clockAheadMs, now);
  return leftMs > 0 ? formatSeconds(leftMs + 999) : null;
}

// A model that has said nothing for so long is busy or hangs; the server gives it much longer.
const longMs = 10_000;

/** Whether the model has kept the agent waiting for its first word for long. */
function useIsModelSlow({ name, since }: StatusInfo): boolean {
  const clockAheadMs = useAppStore((state) => state.clockAheadMs);
  const isWaiting = name === "thinking" && since !== null;
  const now = useNow(1000, isWaiting);
  return isWaiting && toServerTime(clockAheadMs, now) - Date.parse(since) > longMs;
}

/** What a session with a turn under way does, in a sentence. */
export function useStatusText(status: StatusInfo): string {
  const { t } = useTranslation();
  const time = useTimeLeft(status);
  const isModelSlow = useIsModelSlow(status);
  const { attempt, maxAttempts: max, queuePosition } = status;
  switch (status.name) {
    case "idle":
    case "hibernated":
    case "recovered":
      return t("status.working");
    case "preparing":
      return queuePosition === null ? t("status.preparing") : t("status.queued", { position: queuePosition });
    case "retrying":
      if (attempt === null || max === null) return t("status.retryingPlain");
      if (time === null) return t("status.retrying", { attempt, max });
      return t("status.retryingIn", { attempt, max, time });
    case "server_shutting_down":
      return time === null ? t("status.server_shutting_down") : t("status.shuttingDownIn", { time });
    case "thinking":
      return isModelSlow ? t("status.waitingForModel") : t("status.thinking");
    default:
      return t(`status.${status.name}`);
  }
}
