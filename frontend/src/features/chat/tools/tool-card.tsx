import { ChevronRight } from "lucide-react";
import { lazy, Suspense, useId, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { DecisionLine } from "@/features/chat/cards/decision-line";
import { PermissionCard } from "@/features/chat/cards/permission-card";
import { PlanCard } from "@/features/chat/cards/plan-card";
import { QuestionCard } from "@/features/chat/cards/question-card";
import { PluginResult } from "@/features/chat/tools/plugin-result";
import { ToolApp } from "@/features/chat/tools/tool-app";
import { ToolIcon } from "@/features/chat/tools/tool-icon";
import { ToolStateLabel } from "@/features/chat/tools/tool-state-label";
import { toOwnName, toTarget, toToolName } from "@/features/chat/tools/tool-summary";
import { TapeNode } from "@/features/chat/transcript/tape-node";
import { cn } from "@/shared/lib/class-names";
import type { ToolItem, ToolState } from "@/shared/tape/transcript";
import { VisibleText } from "@/shared/ui/visible-text";

const ToolDetails = lazy(() =>
  import("@/features/chat/tools/tool-details").then((module) => ({ default: module.ToolDetails })),
);

const nodeColours: Partial<Record<ToolState, string>> = {
  waiting: "border-amber-line text-amber",
  running: "border-accent text-accent",
  writing: "border-accent text-accent",
  failed: "border-red-line text-red",
  denied: "border-red-line text-red",
};

function useVerb({ tool, plugin }: ToolItem): string {
  const { t, i18n } = useTranslation();
  const key = `tool.verb.${tool}`;
  if (i18n.exists(key)) return t(key as "tool.verb.Bash");
  if (plugin !== null) return toOwnName(tool);
  return tool === "" ? t("tool.unnamed") : toToolName(tool);
}

/** Whose tool it is, where that is not Claude Code's own. */
function PluginName({ name }: { readonly name: string }) {
  const { t } = useTranslation();
  return (
    <span
      title={t("tool.ofPlugin", { plugin: name })}
      className="max-w-[40%] shrink-0 truncate rounded-md bg-sunken px-1.5 py-0.5 text-xs text-ink-soft"
    >
      <span className="sr-only">{t("tool.ofPlugin", { plugin: name })}</span>
      <span aria-hidden>{name}</span>
    </span>
  );
}

type ToolCardProps = {
  readonly item: ToolItem;
  /** What the subagent that this call started does. */
  readonly children?: ReactNode;
};

export function ToolCard({ item, children }: ToolCardProps) {
  const [isOpen, setIsOpen] = useState(false);
  const bodyId = useId();
  const verb = useVerb(item);
  const target = toTarget(item);
  const request = item.state === "waiting" ? item.permission : null;
  if (item.tool === "AskUserQuestion") {
    return (
      <TapeNode icon={<ToolIcon tool={item.tool} />} className={nodeColours[item.state]}>
        <QuestionCard item={item} />
      </TapeNode>
    );
  }
  if (item.tool === "ExitPlanMode") {
    return (
      <TapeNode icon={<ToolIcon tool={item.tool} />} className={nodeColours[item.state]}>
        <PlanCard item={item} />
      </TapeNode>
    );
  }
  return (
    <TapeNode icon={<ToolIcon tool={item.tool} />} className={nodeColours[item.state]}>
      <div data-testid="tool-card" data-state={item.state}>
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={bodyId}
          onClick={() => setIsOpen(!isOpen)}
          className="group -mx-2 flex min-h-[1.625rem] w-[calc(100%+1rem)] items-center gap-2 rounded-lg px-2 py-0.5 text-left text-sm transition-colors hover:bg-hover"
        >
          <span className="shrink-0 font-medium">{verb}</span>
          {item.plugin !== null && <PluginName name={item.plugin} />}
          <span className="min-w-0 flex-1 truncate font-mono text-[0.8125rem] text-ink-soft" title={target}>
            <VisibleText text={target} />
          </span>
          <ToolStateLabel item={item} />
          <ChevronRight
            size={14}
            aria-hidden
            className={cn("shrink-0 text-ink-faint transition-transform", isOpen && "rotate-90")}
          />
        </button>
        <div id={bodyId}>
          {isOpen && (
            <Suspense>
              <ToolDetails item={item} />
            </Suspense>
          )}
        </div>
        {item.plugin !== null && item.result && <PluginResult item={item} />}
        {item.permission?.resolution && <DecisionLine resolution={item.permission.resolution} />}
        {item.hasApp && <ToolApp item={item} />}
        {request && <PermissionCard tool={item.tool} permission={request} />}
        {children}
      </div>
    </TapeNode>
  );
}
