import { Ban, Check, CircleStop, Hand, LoaderCircle, X, type LucideIcon } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useNow } from "@/shared/hooks/use-now";
import { cn } from "@/shared/lib/class-names";
import { formatDuration, formatSeconds } from "@/shared/lib/format";
import { useAppStore } from "@/shared/store/app-store";
import { toServerTime } from "@/shared/store/connection-slice";
import type { ToolItem, ToolState } from "@/shared/tape/transcript";

const icons: Readonly<Record<ToolState, LucideIcon>> = {
  writing: LoaderCircle,
  waiting: Hand,
  running: LoaderCircle,
  done: Check,
  failed: X,
  denied: Ban,
  stopped: CircleStop,
};

const colours: Readonly<Record<ToolState, string>> = {
  writing: "text-ink-faint",
  waiting: "text-amber",
  running: "text-accent",
  done: "text-ink-faint",
  failed: "text-red",
  denied: "text-red",
  stopped: "text-ink-faint",
};

// A call that is over this quickly should not flash a counter.
const showElapsedAfterMs = 1_000;

function RunningTime({ since }: { readonly since: string }) {
  const clockAheadMs = useAppStore((state) => state.clockAheadMs);
  const elapsedMs = toServerTime(clockAheadMs, useNow(1_000)) - Date.parse(since);
  return elapsedMs >= showElapsedAfterMs ? <span>{formatSeconds(elapsedMs)}</span> : null;
}

/** What a call is doing, as an icon and a word, and how long it took. */
export function ToolStateLabel({ item }: { readonly item: ToolItem }) {
  const { t } = useTranslation();
  const Icon = icons[item.state];
  const isBusy = item.state === "running" || item.state === "writing";
  return (
    <span className={cn("flex shrink-0 items-center gap-1.5 text-xs tabular-nums", colours[item.state])}>
      {item.state === "running" && <RunningTime since={item.startedAt} />}
      {item.durationMs !== null && <span>{formatDuration(item.durationMs)}</span>}
      <Icon size={13} aria-hidden className={cn(isBusy && "animate-spin")} />
      <span className={cn(item.state === "done" && "max-sm:sr-only")}>{t(`tool.state.${item.state}`)}</span>
    </span>
  );
}
