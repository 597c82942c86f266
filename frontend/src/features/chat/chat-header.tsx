import { GitFork } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { ContextMeter } from "@/features/chat/context-meter";
import { forkSession } from "@/features/chat/session-commands";
import { PluginsButton } from "@/features/chat/settings/plugins-button";
import { RulesButton } from "@/features/chat/settings/rules-button";
import { SidePanelButton } from "@/features/chat/side-panel/side-panel-button";
import { cn } from "@/shared/lib/class-names";
import { formatCost } from "@/shared/lib/format";
import { PluginSlot } from "@/shared/plugin-ui/plugin-slot";
import { useAppStore } from "@/shared/store/app-store";
import { useTranscript } from "@/shared/store/use-transcript";
import { IconButton } from "@/shared/ui/icon-button";

type ChatHeaderProps = {
  readonly sessionId: string | null;
  /** What opens the session list on narrow screens. */
  readonly start: ReactNode;
};

export function ChatHeader({ sessionId, start }: ChatHeaderProps) {
  const { t } = useTranslation();
  const row = useAppStore((state) => state.sessions?.find(({ id }) => id === sessionId));
  const facts = useAppStore((state) => state.facts[sessionId ?? ""]);
  const settings = useTranscript((transcript) => transcript.settings);
  const tapeCost = useTranscript((transcript) => transcript.costUsd);
  const context = useTranscript((transcript) => transcript.context);
  const title = settings.title ?? facts?.title ?? row?.title ?? "";
  const cost = Math.max(tapeCost, facts?.costUsd ?? 0, row?.cost_usd ?? 0);
  const profile = facts ? facts.profile : (row?.profile_display_name ?? null);
  const percent = context?.percent ?? facts?.contextPercent ?? row?.context_percent ?? null;
  return (
    <header
      className={cn(
        "flex h-14 shrink-0 items-center gap-2 border-b px-3 sm:px-5",
        sessionId === null ? "border-transparent" : "border-line",
      )}
    >
      {start}
      {sessionId !== null && (
        <>
          <h1 className="min-w-0 flex-1 truncate font-semibold tracking-[-0.01em]">
            {title === "" ? t("sessions.untitled") : title}
          </h1>
          {profile !== null && (
            <span
              title={t("profile.label")}
              data-testid="session-profile"
              className="max-w-40 truncate rounded-full bg-accent-wash px-2.5 py-0.5 text-xs font-medium text-accent max-sm:max-w-24"
            >
              {profile}
            </span>
          )}
          <div className="flex shrink-0 items-center gap-3 text-xs text-ink-faint tabular-nums">
            {cost > 0 && (
              <span title={t("header.cost")} data-testid="session-cost">
                {formatCost(cost)}
              </span>
            )}
            {percent !== null && <ContextMeter percent={percent} context={context} />}
          </div>
          <PluginSlot slot="header-action" />
          <SidePanelButton />
          <PluginsButton />
          <RulesButton sessionId={sessionId} />
          <IconButton label={t("fork.whole")} onClick={() => void forkSession()}>
            <GitFork size={16} aria-hidden />
          </IconButton>
        </>
      )}
    </header>
  );
}
