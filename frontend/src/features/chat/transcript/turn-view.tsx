import { memo } from "react";
import { useTranslation } from "react-i18next";

import { ResultFooter } from "@/features/chat/cards/result-footer";
import { ItemView } from "@/features/chat/transcript/item-view";
import { StatusLine } from "@/features/chat/transcript/status-line";
import { Fold } from "@/features/chat/transcript/taken-back";
import { TurnMessage } from "@/features/chat/transcript/turn-message";
import { cn } from "@/shared/lib/class-names";
import { useTranscript } from "@/shared/store/use-transcript";
import { isQueued, type Transcript } from "@/shared/tape/transcript";

type TurnViewProps = {
  readonly turnId: string;
  /** Lay it out only when it comes into view. */
  readonly isLazy: boolean;
};

/** How many of a turn's items came before its result; what came later is about the session. */
function countBeforeResult({ turns, items }: Transcript, turnId: string): number {
  const turn = turns[turnId];
  if (!turn?.result) return turn?.itemKeys.length ?? 0;
  const { seq } = turn.result;
  const first = turn.itemKeys.findIndex((key) => (items[key]?.seq ?? 0) > seq);
  return first === -1 ? turn.itemKeys.length : first;
}

function TurnViewInner({ turnId, isLazy }: TurnViewProps) {
  const { t } = useTranslation();
  const turn = useTranscript((transcript) => transcript.turns[turnId]);
  const isWaiting = useTranscript((transcript) => isQueued(transcript, turnId));
  const isActive = useTranscript((transcript) => transcript.openTurnIds[0] === turnId);
  const count = useTranscript((transcript) => countBeforeResult(transcript, turnId));
  if (!turn) return null;
  const [keys, laterKeys] = [turn.itemKeys.slice(0, count), turn.itemKeys.slice(count)];
  return (
    <article
      className={cn(
        "group/turn space-y-5",
        isLazy && "[contain-intrinsic-size:auto_20rem] [content-visibility:auto]",
      )}
    >
      {turn.message && (
        <TurnMessage message={turn.message} isQueued={isWaiting} isStanding={turn.rewind === null} />
      )}
      {(keys.length > 0 || isActive) && (
        <Items keys={keys}>{isActive && <StatusLine since={turn.message?.ts ?? null} />}</Items>
      )}
      {turn.takenBackKeys.length > 0 && (
        <Fold summary={t("rewind.restTakenBack")}>
          <Items keys={turn.takenBackKeys} />
        </Fold>
      )}
      {turn.result && <ResultFooter turn={turn} result={turn.result} />}
      {laterKeys.length > 0 && <Items keys={laterKeys} />}
    </article>
  );
}

type ItemsProps = { readonly keys: readonly string[]; readonly children?: React.ReactNode };

function Items({ keys, children }: ItemsProps) {
  const { t } = useTranslation();
  return (
    <div className="tape">
      <h2 className="sr-only">{t("chat.claude")}</h2>
      {keys.map((key) => (
        <ItemView key={key} itemKey={key} />
      ))}
      {children}
    </div>
  );
}

export const TurnView = memo(TurnViewInner);
