import { Pencil, Undo2 } from "lucide-react";
import { lazy, Suspense, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { PersonMessage } from "@/features/chat/transcript/person-message";
import type { PersonMessage as Message } from "@/shared/tape/transcript";
import { IconButton } from "@/shared/ui/icon-button";

const MessageEditor = lazy(() =>
  import("@/features/chat/transcript/message-editor").then((module) => ({ default: module.MessageEditor })),
);
const RewindDialog = lazy(() =>
  import("@/features/chat/transcript/rewind-dialog").then((module) => ({ default: module.RewindDialog })),
);

type TurnMessageProps = {
  readonly message: Message;
  readonly isQueued: boolean;
  /** False for what was taken back: there is nothing more to do with it. */
  readonly isStanding: boolean;
};

/** A person's message on the tape, which can be edited and sent again, or taken back. */
export function TurnMessage({ message, isQueued, isStanding }: TurnMessageProps) {
  const { t } = useTranslation();
  const [mode, setMode] = useState<"shown" | "edited" | "taken_back">("shown");
  const editRef = useRef<HTMLButtonElement>(null);
  const shown = (
    <PersonMessage
      content={message}
      note={isQueued ? t("message.queued") : null}
      actions={
        isStanding && (
          <div className="absolute right-0 -bottom-5 flex opacity-0 transition-opacity group-hover/message:opacity-100 focus-within:opacity-100 touch:opacity-100">
            <IconButton
              ref={editRef}
              className="size-7"
              label={t("message.edit")}
              onClick={() => setMode("edited")}
            >
              <Pencil size={13} aria-hidden />
            </IconButton>
            <IconButton className="size-7" label={t("rewind.toHere")} onClick={() => setMode("taken_back")}>
              <Undo2 size={14} aria-hidden />
            </IconButton>
          </div>
        )
      }
    />
  );
  if (mode === "edited" && isStanding) {
    const close = () => {
      setMode("shown");
      requestAnimationFrame(() => editRef.current?.focus());
    };
    return (
      <Suspense fallback={shown}>
        <MessageEditor message={message} onClose={close} />
      </Suspense>
    );
  }
  return (
    <>
      {shown}
      {mode === "taken_back" && isStanding && (
        <Suspense>
          <RewindDialog seq={message.seq} onClose={() => setMode("shown")} />
        </Suspense>
      )}
    </>
  );
}
