import type { Draft } from "@/shared/tape/draft";
import type { EventOf } from "@/shared/tape/frame";
import type { Turn } from "@/shared/tape/transcript";

/**
 * Marks what no longer stands: everything with a number from `before_seq` on. What an earlier rewind took is taken
 * again if it is in that range. A block counts by its last event, so that a tape without deltas gives the same.
 */
export function applyRewound(draft: Draft, event: EventOf<"rewound">): void {
  const rewind = { seq: event.seq, hasRestoredFiles: event.files_restored ?? false };
  for (const turnId of draft.get("turnIds")) {
    const turn = draft.turn(turnId);
    if (!turn) continue;
    const takenKeys = turn.itemKeys.filter((key) => (draft.item(key)?.seq ?? 0) >= event.before_seq);
    for (const key of takenKeys) draft.closeRequest(key);
    if (isWhollyTaken(turn, takenKeys, event.before_seq)) {
      draft.putTurn(turnId, { rewind });
      draft.closeTurn(turnId);
    } else if (takenKeys.length > 0) {
      draft.putTurn(turnId, {
        itemKeys: turn.itemKeys.filter((key) => !takenKeys.includes(key)),
        takenBackKeys: [...turn.takenBackKeys, ...takenKeys],
      });
    }
  }
}

function isWhollyTaken(turn: Turn, takenKeys: readonly string[], beforeSeq: number): boolean {
  if (turn.message !== null) return turn.message.seq >= beforeSeq;
  return takenKeys.length > 0 && takenKeys.length === turn.itemKeys.length;
}
