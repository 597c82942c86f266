import { useState } from "react";
import { useTranslation } from "react-i18next";

import { CommentForm } from "@/features/chat/cards/comment-form";
import { Countdown } from "@/features/chat/cards/countdown";
import { EditForm } from "@/features/chat/cards/edit-form";
import { ExactInput } from "@/features/chat/cards/exact-input";
import { RememberForm } from "@/features/chat/cards/remember-form";
import { RequestFrame } from "@/features/chat/cards/request-frame";
import { useAnswer } from "@/features/chat/cards/use-answer";
import { toToolName } from "@/features/chat/tools/tool-summary";
import type { Permission } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

type PermissionCardProps = { readonly tool: string; readonly permission: Permission };

type Step = "buttons" | "comment" | "edit" | "remember";

/**
 * A call that waits for a person. Shows what will run character by character, and puts no button under the Enter key:
 * nothing here takes the focus by itself.
 */
export function PermissionCard({ tool, permission }: PermissionCardProps) {
  const { t } = useTranslation();
  const [step, setStep] = useState<Step>("buttons");
  const [isAnswered, answer] = useAnswer(permission);
  const back = () => setStep("buttons");
  const title = t("permission.title", { tool: toToolName(tool) });
  return (
    <RequestFrame title={title} permission={permission}>
      {(isAnswered || step !== "edit") && <ExactInput input={permission.input} />}
      {isAnswered && (
        <p role="status" className="pt-3 text-sm text-ink-soft">
          {t("permission.answering")}
        </p>
      )}
      {/* Hidden, not gone: if the answer is refused, what was typed is still there. */}
      <div hidden={isAnswered}>
        {step === "comment" && (
          <CommentForm
            label={t("permission.comment")}
            sendLabel={t("permission.sendDenial")}
            onSend={(message) => answer({ decision: "deny", ...(message && { message }) })}
            onCancel={back}
          />
        )}
        {step === "edit" && (
          <EditForm
            tool={tool}
            input={permission.input}
            onSend={(input) => answer({ decision: "allow", updated_input: input })}
            onCancel={back}
          />
        )}
        {step === "remember" && (
          <RememberForm
            suggestions={permission.suggestions}
            onSend={(remember, suggestion) => answer({ decision: "allow", remember, suggestion })}
            onCancel={back}
          />
        )}
        {step === "buttons" && (
          <div className="flex flex-wrap items-center gap-2 pt-3">
            <Button size="small" look="primary" onClick={() => answer({ decision: "allow" })}>
              {t("permission.allow")}
            </Button>
            {permission.suggestions.length > 0 && (
              <Button size="small" onClick={() => setStep("remember")}>
                {t("permission.remember")}
              </Button>
            )}
            <Button size="small" onClick={() => answer({ decision: "deny" })}>
              {t("permission.deny")}
            </Button>
            <Button size="small" look="quiet" onClick={() => setStep("comment")}>
              {t("permission.denyWith")}
            </Button>
            <Button size="small" look="quiet" onClick={() => setStep("edit")}>
              {t("permission.edit")}
            </Button>
            <Countdown expiresAt={permission.expiresAt} />
          </div>
        )}
      </div>
    </RequestFrame>
  );
}
