import { useEffect, useLayoutEffect, useRef, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { UploadChips } from "@/features/chat/attachments/upload-chips";
import { addFiles, takeAttachments } from "@/features/chat/attachments/uploads";
import { AttachButton } from "@/features/chat/composer/attach-button";
import { SendButtons } from "@/features/chat/composer/send-buttons";
import { useComposerKeys } from "@/features/chat/composer/use-composer-keys";
import { useDraft } from "@/features/chat/composer/use-draft";
import { useSendWhenUploaded } from "@/features/chat/composer/use-send-when-uploaded";
import type { MessageContent } from "@/shared/connection/outbox";
import { useAppStore } from "@/shared/store/app-store";
import { draftKey } from "@/shared/store/drafts-slice";

/** Id of the message input, for the shortcuts and the skip link that go there. */
export const composerId = "composer";

const maxHeightPx = 260;

type ComposerProps = {
  readonly sessionId: string | null;
  readonly isRunning: boolean;
  readonly isDisabled?: boolean;
  /** Without a connection nothing can be stopped. */
  readonly canStop?: boolean;
  /** What else can be set for the next message. */
  readonly controls?: ReactNode;
  /** What is above the input. */
  readonly extensions?: ReactNode;
  /** The files of a new conversation are not in the message: they wait for its session. */
  readonly onSend: (content: MessageContent) => void;
  readonly onStop: () => void;
  /** At each change of the text by its writer. */
  readonly onTyping?: () => void;
};

export function Composer({
  sessionId,
  isRunning,
  isDisabled = false,
  canStop = true,
  controls,
  extensions,
  onSend,
  onStop,
  onTyping,
}: ComposerProps) {
  const { t } = useTranslation();
  const key = draftKey(sessionId);
  const { text, uploads } = useDraft(key);
  const fieldRef = useRef<HTMLTextAreaElement>(null);
  const setText = (next: string) => useAppStore.getState().setDraftText(key, next);

  const sendNow = () => {
    const draft = useAppStore.getState().drafts[key];
    const content = (draft?.text ?? text).trim();
    if (sessionId === null) onSend({ text: content, attachments: [] });
    else {
      const attachments = takeAttachments(key);
      setText("");
      onSend({ text: content, attachments });
    }
    fieldRef.current?.focus();
  };
  const { isWaiting, send } = useSendWhenUploaded(sessionId, uploads, sendNow);
  const hasFailed = uploads.some(({ state }) => state === "failed");
  const canSend = (text.trim() !== "" || uploads.length > 0) && !hasFailed && !isDisabled && !isWaiting;
  const submit = () => {
    if (canSend) send();
  };
  const onKeyDown = useComposerKeys(text, setText, submit);

  // With a keyboard at hand one wants to type; on a phone the focus would open the screen's keyboard.
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) fieldRef.current?.focus({ preventScroll: true });
  }, []);

  useLayoutEffect(() => {
    const field = fieldRef.current;
    if (!field) return;
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight, maxHeightPx)}px`;
  }, [text]);

  return (
    <div className="relative mx-auto w-full max-w-[46rem] px-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] before:pointer-events-none before:absolute before:inset-x-0 before:bottom-full before:h-5 before:bg-gradient-to-t before:from-canvas before:to-transparent sm:px-6 sm:pb-4">
      {extensions}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
        className="relative rounded-[1.25rem] border border-line-strong bg-surface shadow-raised transition-colors focus-within:border-accent"
      >
        <UploadChips sessionId={sessionId} uploads={uploads} isDisabled={isDisabled} />
        <textarea
          ref={fieldRef}
          id={composerId}
          rows={1}
          value={text}
          readOnly={isDisabled}
          onChange={(event) => {
            setText(event.target.value);
            onTyping?.();
          }}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            // Text that was copied with a picture of itself is meant as text.
            const { files } = event.clipboardData;
            if (files.length === 0 || event.clipboardData.getData("text/plain") !== "") return;
            event.preventDefault();
            addFiles(sessionId, [...files]);
          }}
          aria-label={t("composer.label")}
          aria-describedby="composer-hint"
          placeholder={isRunning ? t("composer.placeholderQueue") : t("composer.placeholder")}
          enterKeyHint="send"
          className="block w-full resize-none bg-transparent px-4 pt-3.5 pb-1 outline-none placeholder:text-ink-faint"
        />
        <div className="flex h-12 shrink-0 items-center gap-0.5 px-1.5">
          <AttachButton sessionId={sessionId} isDisabled={isDisabled} />
          {controls}
          <p
            id="composer-hint"
            className="ml-auto truncate pr-2 pl-3 text-xs text-ink-faint max-sm:sr-only touch:sr-only"
          >
            {isWaiting
              ? t("composer.hintUploading")
              : isRunning
                ? t("composer.hintRunning")
                : t("composer.hint")}
          </p>
          <SendButtons
            isRunning={isRunning}
            isWaiting={isWaiting}
            canSend={canSend}
            canStop={canStop}
            onStop={onStop}
          />
        </div>
      </form>
    </div>
  );
}
