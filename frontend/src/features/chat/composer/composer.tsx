import { ArrowUp, Square } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";

import { loadDraft, saveDraft } from "@/features/chat/composer/draft";
import { useRecall } from "@/features/chat/composer/use-recall";

/** Id of the message input, for the shortcuts and the skip link that go there. */
export const composerId = "composer";

const maxHeightPx = 260;
// Browsers that send the Enter that ends an input method's composition mark it only by this old code.
const compositionKeyCode = 229;

type ComposerProps = {
  readonly sessionId: string | null;
  readonly isRunning: boolean;
  readonly isDisabled?: boolean;
  /** Without a connection nothing can be stopped. */
  readonly canStop?: boolean;
  readonly onSend: (text: string) => void;
  readonly onStop: () => void;
};

export function Composer({
  sessionId,
  isRunning,
  isDisabled = false,
  canStop = true,
  onSend,
  onStop,
}: ComposerProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(() => loadDraft(sessionId));
  const fieldRef = useRef<HTMLTextAreaElement>(null);
  const change = (next: string) => {
    setText(next);
    saveDraft(sessionId, next);
  };
  const recall = useRecall(text, change);
  const canSend = text.trim() !== "" && !isDisabled;

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

  const send = () => {
    if (!canSend) return;
    onSend(text.trim());
    change("");
    fieldRef.current?.focus();
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only mark of it in Safari
    if (event.nativeEvent.isComposing || event.keyCode === compositionKeyCode) return;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      send();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      if (recall(event.key === "ArrowUp" ? "older" : "newer")) event.preventDefault();
    }
  };

  return (
    <div className="relative mx-auto w-full max-w-[46rem] px-3 pb-[max(0.75rem,env(safe-area-inset-bottom))] before:pointer-events-none before:absolute before:inset-x-0 before:bottom-full before:h-5 before:bg-gradient-to-t before:from-canvas before:to-transparent sm:px-6 sm:pb-4">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
        className="rounded-[1.25rem] border border-line-strong bg-surface shadow-raised transition-colors focus-within:border-accent touch:flex touch:items-end"
      >
        <textarea
          ref={fieldRef}
          id={composerId}
          rows={1}
          value={text}
          onChange={(event) => change(event.target.value)}
          onKeyDown={onKeyDown}
          aria-label={t("composer.label")}
          aria-describedby="composer-hint"
          placeholder={isRunning ? t("composer.placeholderQueue") : t("composer.placeholder")}
          enterKeyHint="send"
          className="block w-full resize-none bg-transparent px-4 pt-3.5 pb-1 outline-none placeholder:text-ink-faint touch:py-3"
        />
        <div className="flex h-12 shrink-0 items-center justify-between gap-2 pr-1.5 pl-4 touch:pl-0">
          <p id="composer-hint" className="truncate text-xs text-ink-faint touch:sr-only">
            {isRunning ? t("composer.hintRunning") : t("composer.hint")}
          </p>
          <div className="flex gap-1.5">
            {(!isRunning || canSend) && (
              <button
                type="submit"
                disabled={!canSend}
                aria-label={isRunning ? t("composer.sendQueued") : t("composer.send")}
                title={isRunning ? t("composer.sendQueued") : t("composer.send")}
                className="grid size-9 place-items-center rounded-full bg-accent text-accent-ink transition-colors hover:bg-accent-hover disabled:bg-hover disabled:text-ink-faint"
              >
                <ArrowUp size={18} strokeWidth={2.25} aria-hidden />
              </button>
            )}
            {isRunning && (
              <button
                type="button"
                onClick={onStop}
                disabled={!canStop}
                className="inline-flex h-9 items-center gap-2 rounded-full bg-ink pr-4 pl-3.5 text-[0.8125rem] font-medium text-canvas transition-opacity hover:opacity-85 disabled:opacity-40"
              >
                <Square size={11} fill="currentColor" aria-hidden />
                {t("composer.stop")}
              </button>
            )}
          </div>
        </div>
      </form>
    </div>
  );
}
