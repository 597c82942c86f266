import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { AttachmentList } from "@/features/chat/attachments/attachment-list";
import type { MessageContent } from "@/shared/connection/outbox";
import { cn } from "@/shared/lib/class-names";

type PersonMessageProps = {
  readonly content: MessageContent;
  /** What is special about it: queued, not sent yet, refused. */
  readonly note?: ReactNode;
  readonly isFaint?: boolean;
  /** What can be done with it. */
  readonly actions?: ReactNode;
};

export function PersonMessage({ content, note, isFaint = false, actions }: PersonMessageProps) {
  const { t } = useTranslation();
  const { text, attachments } = content;
  return (
    <div className="group/message relative flex flex-col items-end gap-1.5 pb-2">
      <h2 className="sr-only">{t("chat.you")}</h2>
      <AttachmentList attachments={attachments} />
      {text !== "" && (
        <div
          className={cn(
            "max-w-[85%] rounded-2xl rounded-br-md bg-person px-4 py-2.5 break-words whitespace-pre-wrap group-open/fold:bg-sunken",
            (isFaint || Boolean(note)) && "border border-dashed border-line-strong bg-person/50",
          )}
        >
          {text}
        </div>
      )}
      {note && <div className="text-xs text-ink-faint">{note}</div>}
      {actions}
    </div>
  );
}
