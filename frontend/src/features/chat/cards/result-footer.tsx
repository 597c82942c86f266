import { CircleAlert, OctagonX } from "lucide-react";
import { useTranslation } from "react-i18next";

import { sendMessage } from "@/features/chat/chat-controller";
import { formatCost, formatDuration } from "@/shared/lib/format";
import { useTranscript } from "@/shared/store/use-transcript";
import type { Turn, TurnResult } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

type ResultFooterProps = { readonly turn: Turn; readonly result: TurnResult };

export function ResultFooter({ turn, result }: ResultFooterProps) {
  const isStopped = result.subtype === "interrupted";
  const isFailed = !isStopped && (result.isError || result.subtype !== "success");
  return (
    <footer className="space-y-3">
      {isFailed && <FailureCard turn={turn} result={result} />}
      {isStopped && result.error !== null && <RetryButton turn={turn} text={turn.message?.text ?? null} />}
      {result.structuredOutput !== null && <StructuredOutput value={result.structuredOutput} />}
      <Figures result={result} isStopped={isStopped} />
    </footer>
  );
}

function Figures({ result, isStopped }: { readonly result: TurnResult; readonly isStopped: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pl-[2.375rem] text-xs text-ink-faint tabular-nums">
      {isStopped && (
        <span className="inline-flex items-center gap-1 rounded-full border border-line-strong px-2 py-px font-medium text-ink-soft">
          <OctagonX size={11} aria-hidden />
          {result.error === null ? t("result.interrupted") : t("result.interruptedByCrash")}
        </span>
      )}
      {result.durationMs > 0 && <span title={t("result.duration")}>{formatDuration(result.durationMs)}</span>}
      {result.costUsd > 0 && <span title={t("result.cost")}>{formatCost(result.costUsd)}</span>}
    </div>
  );
}

/** One plain sentence about what happened, and one thing to do about it. */
function FailureCard({ turn, result }: ResultFooterProps) {
  const { t } = useTranslation();
  const isExplained = useTranscript((transcript) =>
    turn.itemKeys.some((key) => transcript.items[key]?.kind === "error"),
  );
  const kind =
    result.subtype === "success" || result.subtype === "interrupted" ? ("error" as const) : result.subtype;
  const canGoOn = kind === "error_max_turns";
  const retryText = canGoOn ? t("result.continueText") : (turn.message?.text ?? null);
  const retry = kind !== "error_max_budget" && (
    <RetryButton turn={turn} text={retryText} label={canGoOn ? t("result.continue") : undefined} />
  );
  // The error on the tape has said what happened; saying it twice would only look twice as bad.
  if (isExplained) return retry;
  return (
    <div className="ml-[2.375rem] space-y-3 rounded-xl border border-red-line bg-red-wash px-4 py-3">
      <div className="flex gap-2.5">
        <CircleAlert size={17} aria-hidden className="mt-[3px] shrink-0 text-red" />
        <div className="min-w-0">
          <p className="font-medium">{t(`result.${kind}`)}</p>
          <p className="text-sm text-ink-soft">{t(`result.${kind}Help`)}</p>
          {result.error !== null && (
            <p className="mt-1 font-mono text-xs break-words text-ink-faint">{result.error}</p>
          )}
        </div>
      </div>
      {retry}
    </div>
  );
}

type RetryButtonProps = {
  readonly turn: Turn;
  readonly text: string | null;
  readonly label?: string | undefined;
};

/** Sends the message again, as a new turn. Only the last turn offers it: what came later has moved on. */
function RetryButton({ turn, text, label }: RetryButtonProps) {
  const { t } = useTranslation();
  const isLast = useTranscript((transcript) => transcript.turnIds.at(-1) === turn.id);
  if (!isLast || text === null) return null;
  return (
    <Button size="small" className="ml-[2.375rem] in-[.bg-red-wash]:ml-0" onClick={() => sendMessage(text)}>
      {label ?? t("result.retry")}
    </Button>
  );
}

function StructuredOutput({ value }: { readonly value: unknown }) {
  const { t } = useTranslation();
  return (
    <details className="ml-[2.375rem] rounded-xl border border-line">
      <summary className="px-4 py-2 text-sm text-ink-soft">{t("result.structured")}</summary>
      <pre className="overflow-x-auto border-t border-line px-4 py-3 font-mono text-[0.8125rem]">
        {JSON.stringify(value, null, 2)}
      </pre>
    </details>
  );
}
