import { useTranslation } from "react-i18next";

import { useNow } from "@/shared/hooks/use-now";
import { formatSeconds } from "@/shared/lib/format";
import { useAppStore } from "@/shared/store/app-store";
import { toServerTime } from "@/shared/store/connection-slice";

/** How long a person has to answer, by the server's clock. Not a live region: it would never stop talking. */
export function Countdown({ expiresAt }: { readonly expiresAt: string }) {
  const { t } = useTranslation();
  const clockAheadMs = useAppStore((state) => state.clockAheadMs);
  const leftMs = Date.parse(expiresAt) - toServerTime(clockAheadMs, useNow(1_000));
  return (
    <span className="ml-auto text-xs text-ink-soft tabular-nums">
      {leftMs > 0 ? t("permission.expiresIn", { time: formatSeconds(leftMs) }) : t("permission.expired")}
    </span>
  );
}
