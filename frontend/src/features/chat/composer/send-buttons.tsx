import { ArrowUp, LoaderCircle, Square } from "lucide-react";
import { useTranslation } from "react-i18next";

type SendButtonsProps = {
  readonly isRunning: boolean;
  /** The message goes out as soon as its files are uploaded. */
  readonly isWaiting: boolean;
  readonly canSend: boolean;
  readonly canStop: boolean;
  readonly onStop: () => void;
};

export function SendButtons({ isRunning, isWaiting, canSend, canStop, onStop }: SendButtonsProps) {
  const { t } = useTranslation();
  const label = isWaiting
    ? t("composer.hintUploading")
    : isRunning
      ? t("composer.sendQueued")
      : t("composer.send");
  return (
    <div className="ml-auto flex shrink-0 gap-1.5 sm:ml-0 touch:ml-auto">
      {(!isRunning || canSend || isWaiting) && (
        <button
          type="submit"
          disabled={!canSend}
          aria-label={label}
          title={label}
          className="grid size-9 place-items-center rounded-full bg-accent text-accent-ink transition-colors hover:bg-accent-hover disabled:bg-hover disabled:text-ink-faint"
        >
          {isWaiting ? (
            <LoaderCircle size={17} aria-hidden className="animate-spin" />
          ) : (
            <ArrowUp size={18} strokeWidth={2.25} aria-hidden />
          )}
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
  );
}
