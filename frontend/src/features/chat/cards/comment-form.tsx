import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/shared/ui/button";

type CommentFormProps = {
  readonly label: string;
  readonly sendLabel: string;
  readonly onSend: (message: string) => void;
  readonly onCancel: () => void;
};

/** Says no, and what to do instead. Opened by a button, so it may take the focus. */
export function CommentForm({ label, sendLabel, onSend, onCancel }: CommentFormProps) {
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
        aria-label={label}
        placeholder={label}
        maxLength={4000}
        ref={fieldRef}
        className="w-full resize-none rounded-lg border border-amber-line bg-surface px-3 py-2 text-sm"
      />
      <div className="flex flex-wrap gap-2">
        <Button type="submit" size="small" look="danger">
          {sendLabel}
        </Button>
        <Button size="small" look="quiet" onClick={onCancel}>
          {t("permission.cancel")}
        </Button>
      </div>
    </form>
  );
}
