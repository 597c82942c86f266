import { CircleAlert, OctagonX } from "lucide-react";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";

import { ForkButton } from "@/features/chat/cards/fork-button";
import { TurnActionButton } from "@/features/chat/cards/turn-action-button";
import { actionPlace, hasFailed } from "@/features/chat/turn-action";
import { formatCost, formatDuration } from "@/shared/lib/format";
import { useTranscript } from "@/shared/store/use-transcript";
import type { Turn, TurnResult } from "@/shared/tape/transcript";

const StructuredOutput = lazy(() =>
  import("@/features/chat/cards/structured-output").then((module) => ({ default: module.StructuredOutput })),
);

type ResultFooterProps = { readonly turn: Turn; readonly result: TurnResult };

export function ResultFooter({ turn, result }: ResultFooterProps) {
  const isExplained = useTranscript((transcript) =>
    turn.itemKeys.some((key) => transcript.items[key]?.kind === "error"),
  );
  const hasAction = useTranscript((transcript) => actionPlace(transcript, turn.id) === "result");
  const isStopped = result.subtype === "interrupted";
  const action = hasAction && <TurnActionButton turnId={turn.id} code={null} />;
  return (
    <footer className="space-y-3 pl-[2.375rem]">
      {/* An error on the tape has said what happened; saying it twice would only look twice as bad. */}
      {!isStopped && !isExplained && hasFailed(result) && <FailureCard result={result}>{action}</FailureCard>}
      {isStopped && action}
      {result.structuredOutput !== null && (
        <Suspense fallback={<div className="h-24 rounded-xl border border-line bg-sunken" />}>
          <StructuredOutput value={result.structuredOutput} />
        </Suspense>
      )}
      <Figures turn={turn} result={result} isStopped={isStopped} />
    </footer>
  );
}

function Figures({ turn, result, isStopped }: ResultFooterProps & { readonly isStopped: boolean }) {
  const { t } = useTranslation();
  const isWhole = turn.rewind === null && turn.takenBackKeys.length === 0;
  return (
    <div className="group/figures flex min-h-7 flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-faint tabular-nums">
      {isStopped && (
        <span className="inline-flex items-center gap-1 rounded-full border border-line-strong px-2 py-px font-medium text-ink-soft">
          <OctagonX size={11} aria-hidden />
          {result.error === null ? t("result.interrupted") : t("result.interruptedByCrash")}
        </span>
      )}
      {result.durationMs > 0 && <span title={t("result.duration")}>{formatDuration(result.durationMs)}</span>}
      {result.costUsd > 0 && <span title={t("result.cost")}>{formatCost(result.costUsd)}</span>}
      {isWhole && !hasFailed(result) && <ForkButton atSeq={result.seq} />}
    </div>
  );
}

type FailureCardProps = { readonly result: TurnResult; readonly children: React.ReactNode };

/** One plain sentence about what happened, and one thing to do about it. */
function FailureCard({ result, children }: FailureCardProps) {
  const { t } = useTranslation();
  const { subtype, error } = result;
  const kind = subtype === "success" || subtype === "interrupted" ? ("error" as const) : subtype;
  return (
    <div className="space-y-3 rounded-xl border border-red-line bg-red-wash px-4 py-3">
      <div className="flex gap-2.5">
        <CircleAlert size={17} aria-hidden className="mt-[3px] shrink-0 text-red" />
        <div className="min-w-0">
          <p className="font-medium">{t(`result.${kind}`)}</p>
          <p className="text-sm text-ink-soft">{t(`result.help.${kind}`)}</p>
          {error !== null && <p className="mt-1 text-xs break-words text-ink-faint">{error}</p>}
        </div>
      </div>
      {children}
    </div>
  );
}
