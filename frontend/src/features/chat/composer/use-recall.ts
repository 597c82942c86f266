import { useRef } from "react";

import { useAppStore } from "@/shared/store/app-store";
import { emptyTranscript } from "@/shared/tape/transcript";

function earlierMessages(): readonly string[] {
  const { transcripts, sessionId } = useAppStore.getState();
  const { turnIds, turns } = transcripts[sessionId ?? ""] ?? emptyTranscript;
  return turnIds.flatMap((id) => turns[id]?.message?.text ?? []);
}

/**
 * Walks through earlier messages with the arrow keys, from an empty input or from one that was recalled and not
 * changed. The function returns whether it did something; else the key moves the cursor as usual.
 */
export function useRecall(
  text: string,
  setText: (text: string) => void,
): (step: "older" | "newer") => boolean {
  const position = useRef<{ readonly back: number; readonly text: string } | null>(null);
  return (step) => {
    const isRecalled = position.current !== null && position.current.text === text;
    if (text !== "" && !isRecalled) return false;
    const messages = earlierMessages();
    const back = (isRecalled ? (position.current?.back ?? 0) : 0) + (step === "older" ? 1 : -1);
    if (back < 0 || back > messages.length) return false;
    const recalled = back === 0 ? "" : (messages[messages.length - back] ?? "");
    position.current = { back, text: recalled };
    setText(recalled);
    return true;
  };
}
