import { useTranslation } from "react-i18next";

import { sendMessage } from "@/features/chat/chat-controller";
import { forkSession } from "@/features/chat/session-commands";
import { actionFor, lastAnsweredSeq } from "@/features/chat/turn-action";
import { useNow } from "@/shared/hooks/use-now";
import { formatSeconds } from "@/shared/lib/format";
import { useAppStore } from "@/shared/store/app-store";
import { toServerTime } from "@/shared/store/connection-slice";
import { useTranscript } from "@/shared/store/use-transcript";
import { Button } from "@/shared/ui/button";
import { Link } from "@/shared/ui/link";

// Claude Code's own command: it replaces what was said by a summary.
const compactCommand = "/compact";

type TurnActionButtonProps = {
  readonly turnId: string;
  /** Code of the error that ended the turn; null when only its result says so. */
  readonly code: string | null;
  /** When there is a point in trying again, in ms of the server's clock. */
  readonly notBefore?: number | null;
};

/** Goes on after a turn that failed: sends its message again, or asks the agent to go on. */
export function TurnActionButton({ turnId, code, notBefore = null }: TurnActionButtonProps) {
  const { t } = useTranslation();
  const message = useTranscript((transcript) => transcript.turns[turnId]?.message);
  const action = useTranscript((transcript) => {
    const turn = transcript.turns[turnId];
    return turn ? actionFor(transcript, turn, code) : null;
  });
  const answeredSeq = useTranscript(lastAnsweredSeq);
  const leftMs = useTimeLeft(notBefore);
  if (action === null) return null;
  if (action === "new_chat") {
    return (
      <Link
        to="/"
        className="inline-flex h-8 items-center rounded-lg border border-line-strong bg-surface px-3 text-[0.8125rem] font-medium hover:bg-hover"
      >
        {t("chat.startNew")}
      </Link>
    );
  }
  const run = () => {
    if (action === "continue") sendMessage({ text: t("result.continueText"), attachments: [] });
    else if (action === "compact") sendMessage({ text: compactCommand, attachments: [] });
    else if (action === "copy") void forkSession(answeredSeq);
    else if (message) sendMessage({ text: message.text, attachments: message.attachments });
  };
  const label = t(`result.${action}`);
  return (
    <Button size="small" disabled={leftMs > 0} className="tabular-nums" onClick={run}>
      {leftMs > 0 ? t("result.actionIn", { action: label, time: formatSeconds(leftMs + 999) }) : label}
    </Button>
  );
}

function useTimeLeft(until: number | null): number {
  const clockAheadMs = useAppStore((state) => state.clockAheadMs);
  const now = useNow(500, until !== null);
  return until === null ? 0 : Math.max(0, until - toServerTime(clockAheadMs, now));
}
