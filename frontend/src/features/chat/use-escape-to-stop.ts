import { useEffect } from "react";

import { stopTurn } from "@/features/chat/chat-controller";

/** Escape stops the answer, unless it is needed to close something or to leave a field of its own. */
export function useEscapeToStop(isRunning: boolean): void {
  useEffect(() => {
    if (!isRunning) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.shiftKey || event.defaultPrevented || event.isComposing) return;
      if (document.querySelector("dialog[open]")) return;
      stopTurn();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [isRunning]);
}
