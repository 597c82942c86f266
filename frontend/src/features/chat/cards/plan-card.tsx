import { useState } from "react";
import { useTranslation } from "react-i18next";

import { CommentForm } from "@/features/chat/cards/comment-form";
import { Countdown } from "@/features/chat/cards/countdown";
import { DecisionLine } from "@/features/chat/cards/decision-line";
import { RequestFrame } from "@/features/chat/cards/request-frame";
import { useAnswer } from "@/features/chat/cards/use-answer";
import { Markdown } from "@/features/chat/markdown/markdown";
import { ToolStateLabel } from "@/features/chat/tools/tool-state-label";
import type { Permission, ToolItem } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

/** The plan: as the CLI puts it to people, out of the plan's file, or else as the model wrote it into the call. */
function planOf({ permission, input }: ToolItem): string {
  const plans = [permission?.input["plan"], input?.["plan"]];
  return plans.find((plan): plan is string => typeof plan === "string" && plan !== "") ?? "";
}

/** A plan that the agent proposes: to approve or to send back while it waits, to read afterwards. */
export function PlanCard({ item }: { readonly item: ToolItem }) {
  const { t } = useTranslation();
  const { permission } = item;
  const plan = planOf(item);
  return (
    <div data-testid="plan-card" data-state={item.state}>
      <div className="flex min-h-[1.625rem] items-center justify-between gap-2 text-sm">
        <h3 className="font-medium">{t("plan.title")}</h3>
        <ToolStateLabel item={item} />
      </div>
      {item.state === "waiting" && permission ? (
        <PlanForm plan={plan} permission={permission} />
      ) : (
        <>
          {plan !== "" && <PlanText plan={plan} />}
          {permission?.resolution && <DecisionLine resolution={permission.resolution} />}
        </>
      )}
    </div>
  );
}

function PlanText({ plan }: { readonly plan: string }) {
  const { t } = useTranslation();
  return (
    <div
      role="region"
      aria-label={t("plan.text")}
      // A region that scrolls must be reachable with the keyboard.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      className="my-2 max-h-[28rem] overflow-auto rounded-lg border border-line bg-surface px-4 py-3"
    >
      <Markdown text={plan} isGrowing={false} />
    </div>
  );
}

type PlanFormProps = { readonly plan: string; readonly permission: Permission };

function PlanForm({ plan, permission }: PlanFormProps) {
  const { t } = useTranslation();
  const [isCommenting, setIsCommenting] = useState(false);
  const [isAnswered, answer] = useAnswer(permission);
  return (
    <RequestFrame title={t("plan.question")} permission={permission}>
      {plan === "" ? (
        <p className="pt-2 text-sm text-ink-soft">{t("plan.empty")}</p>
      ) : (
        <PlanText plan={plan} />
      )}
      {isAnswered ? (
        <p role="status" className="pt-3 text-sm text-ink-soft">
          {t("permission.answering")}
        </p>
      ) : isCommenting ? (
        <CommentForm
          label={t("plan.comment")}
          sendLabel={t("plan.sendComment")}
          onSend={(message) =>
            answer({ decision: "deny", message: message || t("plan.keepPlanningMessage") })
          }
          onCancel={() => setIsCommenting(false)}
        />
      ) : (
        <div className="flex flex-wrap items-center gap-2 pt-3">
          <Button
            size="small"
            look="primary"
            onClick={() => answer({ decision: "allow", permission_mode: "acceptEdits" })}
          >
            {t("plan.approveAndEdit")}
          </Button>
          <Button size="small" onClick={() => answer({ decision: "allow", permission_mode: "default" })}>
            {t("plan.approveAndAsk")}
          </Button>
          <Button size="small" look="quiet" onClick={() => setIsCommenting(true)}>
            {t("plan.keepPlanning")}
          </Button>
          <Countdown expiresAt={permission.expiresAt} />
        </div>
      )}
    </RequestFrame>
  );
}
