import { ShieldQuestionMark } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { Countdown } from "@/features/chat/cards/countdown";
import { ExactInput } from "@/features/chat/cards/exact-input";
import { answerPermission } from "@/features/chat/chat-controller";
import { toToolName } from "@/features/chat/tools/tool-summary";
import { usePending } from "@/shared/hooks/use-pending";
import type { Permission } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

// An answer is confirmed by an event within a moment; if it was lost or refused, the person may answer again.
export const answerTimeoutMs = 10_000;

type PermissionCardProps = { readonly tool: string; readonly permission: Permission };

/**
 * A call that waits for a person. Shows what will run character by character, and puts no button under the Enter key:
 * nothing here takes the focus by itself.
 */
export function PermissionCard({ tool, permission }: PermissionCardProps) {
  const { t } = useTranslation();
  const [isAnswered, setAnswered] = usePending(answerTimeoutMs);
  const [isCommenting, setIsCommenting] = useState(false);
  const answer = (decision: "allow" | "deny", message?: string) => {
    setAnswered();
    answerPermission({ request_id: permission.requestId, decision, ...(message && { message }) });
  };
  return (
    <section
      aria-label={t("permission.title", { tool: toToolName(tool) })}
      className="mt-2 rounded-xl border border-amber-line bg-amber-wash p-4"
    >
      <div className="flex items-start gap-2.5">
        <ShieldQuestionMark size={18} aria-hidden className="mt-0.5 shrink-0 text-amber" />
        <div className="min-w-0 flex-1">
          <h3 className="font-semibold">{t("permission.title", { tool: toToolName(tool) })}</h3>
          {permission.reason && <p className="text-sm text-ink-soft">{permission.reason}</p>}
        </div>
      </div>
      <ExactInput input={permission.input} />
      {isAnswered ? (
        <p role="status" className="pt-3 text-sm text-ink-soft">
          {t("permission.answering")}
        </p>
      ) : isCommenting ? (
        <DenialComment
          onSend={(message) => answer("deny", message)}
          onCancel={() => setIsCommenting(false)}
        />
      ) : (
        <div className="flex flex-wrap items-center gap-2 pt-3">
          <Button size="small" look="primary" onClick={() => answer("allow")}>
            {t("permission.allow")}
          </Button>
          <Button size="small" onClick={() => answer("deny")}>
            {t("permission.deny")}
          </Button>
          <Button size="small" look="quiet" onClick={() => setIsCommenting(true)}>
            {t("permission.denyWith")}
          </Button>
          <Countdown expiresAt={permission.expiresAt} />
        </div>
      )}
    </section>
  );
}

type DenialCommentProps = { readonly onSend: (message: string) => void; readonly onCancel: () => void };

function DenialComment({ onSend, onCancel }: DenialCommentProps) {
  const { t } = useTranslation();
  const [comment, setComment] = useState("");
  const fieldRef = useRef<HTMLTextAreaElement>(null);
  useEffect(() => fieldRef.current?.focus(), []);
  return (
    <form
      className="space-y-2 pt-3"
      onSubmit={(event) => {
        event.preventDefault();
        onSend(comment.trim());
      }}
    >
      <textarea
        rows={2}
        value={comment}
        onChange={(event) => setComment(event.target.value)}
        aria-label={t("permission.comment")}
        placeholder={t("permission.comment")}
        ref={fieldRef}
        className="w-full resize-none rounded-lg border border-amber-line bg-surface px-3 py-2 text-sm"
      />
      <div className="flex gap-2">
        <Button type="submit" size="small" look="danger">
          {t("permission.sendDenial")}
        </Button>
        <Button size="small" look="quiet" onClick={onCancel}>
          {t("permission.cancel")}
        </Button>
      </div>
    </form>
  );
}
