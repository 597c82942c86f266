import { useEffect } from "react";

import { answerPermission, refusedAnswers } from "@/features/chat/chat-controller";
import type { PermissionAnswer } from "@/shared/connection/chat-connection";
import { usePending } from "@/shared/hooks/use-pending";
import type { Permission } from "@/shared/tape/transcript";

// An answer is confirmed by an event within a moment, or refused; if it was lost, the person may answer again.
export const answerTimeoutMs = 10_000;

type Answer = Omit<PermissionAnswer, "request_id" | "input_hash">;

/** Answers a request, for the input that is on screen and no other. Also whether an answer is under way. */
export function useAnswer({
  requestId,
  inputHash,
}: Permission): readonly [boolean, (answer: Answer) => void] {
  const [isAnswered, setAnswered] = usePending(answerTimeoutMs);
  useEffect(() => {
    const reopen = () => setAnswered(false);
    refusedAnswers.addEventListener(requestId, reopen);
    return () => refusedAnswers.removeEventListener(requestId, reopen);
  }, [requestId, setAnswered]);
  const answer = (content: Answer) => {
    setAnswered(true);
    answerPermission({
      request_id: requestId,
      ...(inputHash !== null && { input_hash: inputHash }),
      ...content,
    });
  };
  return [isAnswered, answer];
}
