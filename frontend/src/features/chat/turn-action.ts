import { isRunning, lastStandingTurn, type Item, type Transcript, type Turn } from "@/shared/tape/transcript";

/** The one thing to do about a turn that did not end well. */
export type TurnAction = "retry" | "continue" | "compact" | "copy" | "new_chat";

type Results = NonNullable<Turn["result"]>;

// The work was cut off and what was done stands: to send the message again would begin it from the start.
const cutOffCodes: ReadonlySet<string> = new Set([
  "subprocess_crash",
  "agent_silent",
  "memory_limit",
  "workspace_full",
  "query_timeout",
  "crash_loop",
  "session_not_recovered",
]);
// Sending again changes nothing; somebody has to do something first.
const hopelessCodes: ReadonlySet<string> = new Set([
  "api_not_authorized",
  "api_no_credit",
  "sandbox_unavailable",
  "attachment_not_found",
]);

/** Neither answered nor stopped by a person. */
export function hasFailed({ subtype, isError, error }: Results): boolean {
  if (subtype === "interrupted") return error !== null;
  return isError || subtype !== "success";
}

const isWork = (item: Item | undefined) => item?.kind === "text" || item?.kind === "tool";

/**
 * Where a turn's action is offered: the key of its last error, "result" if it has none, or null. Only the last turn
 * offers one, and not while anything runs: what came later has moved on.
 */
export function actionPlace(transcript: Transcript, turnId: string): string | null {
  if (isRunning(transcript)) return null;
  const turn = lastStandingTurn(transcript);
  if (turn?.id !== turnId || !turn.result || !hasFailed(turn.result)) return null;
  return turn.itemKeys.findLast((key) => transcript.items[key]?.kind === "error") ?? "result";
}

/** Number of the event that ended the last turn that was answered and stands; null if none was. */
export function lastAnsweredSeq({ turnIds, turns }: Transcript): number | null {
  const id = turnIds.findLast((turnId) => {
    const turn = turns[turnId];
    return turn?.rewind === null && turn.result?.subtype === "success";
  });
  return id === undefined ? null : (turns[id]?.result?.seq ?? null);
}

/** What to offer for a turn that ended with the error `code`, or for its result if it has none. */
export function actionFor(transcript: Transcript, turn: Turn, code: string | null): TurnAction | null {
  const subtype = turn.result?.subtype;
  if (subtype === "error_max_budget") return "new_chat";
  if (subtype === "error_max_turns") return "continue";
  if (code === "conversation_too_long") return "compact";
  if (code === "memory_damaged") return lastAnsweredSeq(transcript) === null ? "new_chat" : "copy";
  if (code !== null && hopelessCodes.has(code)) return null;
  const isCutOff = code === null ? subtype === "interrupted" || subtype === "timeout" : cutOffCodes.has(code);
  const hasWork = turn.itemKeys.some((key) => isWork(transcript.items[key]));
  if (isCutOff && hasWork) return "continue";
  return turn.message === null ? null : "retry";
}
