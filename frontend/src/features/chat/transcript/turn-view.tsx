import { memo } from "react";
import { useTranslation } from "react-i18next";

import { ResultFooter } from "@/features/chat/cards/result-footer";
import { ItemView } from "@/features/chat/transcript/item-view";
import { PersonMessage } from "@/features/chat/transcript/person-message";
import { StatusLine } from "@/features/chat/transcript/status-line";
import { cn } from "@/shared/lib/class-names";
import { useTranscript } from "@/shared/store/use-transcript";
import { isQueued } from "@/shared/tape/transcript";

type TurnViewProps = {
  readonly turnId: string;
  /** Lay it out only when it comes into view. */
  readonly isLazy: boolean;
};

function TurnViewInner({ turnId, isLazy }: TurnViewProps) {
  const { t } = useTranslation();
  const turn = useTranscript((transcript) => transcript.turns[turnId]);
  const isWaiting = useTranscript((transcript) => isQueued(transcript, turnId));
  const isActive = useTranscript((transcript) => transcript.openTurnIds[0] === turnId);
  if (!turn) return null;
  const hasTape = turn.itemKeys.length > 0 || isActive;
  return (
    <article
      className={cn("space-y-5", isLazy && "[contain-intrinsic-size:auto_20rem] [content-visibility:auto]")}
    >
      {turn.message && (
        <PersonMessage text={turn.message.text} note={isWaiting ? t("message.queued") : null} />
      )}
      {hasTape && (
        <div className="tape">
          <h2 className="sr-only">{t("chat.claude")}</h2>
          {turn.itemKeys.map((key) => (
            <ItemView key={key} itemKey={key} />
          ))}
          {isActive && <StatusLine since={turn.message?.ts ?? null} />}
        </div>
      )}
      {turn.result && <ResultFooter turn={turn} result={turn.result} />}
    </article>
  );
}

export const TurnView = memo(TurnViewInner);
