import { CircleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";

import { discardMessage, resendMessage, reviseMessage } from "@/features/chat/chat-controller";
import { PersonMessage } from "@/features/chat/transcript/person-message";
import type { OutgoingMessage } from "@/shared/connection/outbox";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";

/** What was written here and is not on the tape yet. */
export function OutgoingMessages() {
  const { t } = useTranslation();
  const outbox = useAppStore((state) => state.outbox);
  const isOpen = useAppStore((state) => state.connection.phase === "open");
  return outbox.map((message) => (
    <PersonMessage
      key={message.clientId}
      content={message}
      isFaint
      note={
        message.refusal === null ? (
          isOpen ? (
            t("message.sending")
          ) : (
            t("message.waitingForConnection")
          )
        ) : (
          <Refusal message={message} refusal={message.refusal} />
        )
      }
    />
  ));
}

function Refusal({ message, refusal }: { readonly message: OutgoingMessage; readonly refusal: string }) {
  const { t } = useTranslation();
  return (
    <div role="alert" className="flex flex-col items-end gap-2">
      <p className="flex items-center gap-1.5 text-red">
        <CircleAlert size={13} aria-hidden />
        {t("message.refused", { message: refusal })}
      </p>
      <div className="flex gap-2">
        <Button size="small" look="quiet" onClick={() => discardMessage(message.clientId)}>
          {t("message.discard")}
        </Button>
        <Button size="small" look="quiet" onClick={() => reviseMessage(message)}>
          {t("message.revise")}
        </Button>
        <Button size="small" onClick={() => resendMessage(message.clientId, message)}>
          {t("message.retry")}
        </Button>
      </div>
    </div>
  );
}
