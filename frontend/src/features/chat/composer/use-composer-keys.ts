import type { KeyboardEvent } from "react";

import { useRecall } from "@/features/chat/composer/use-recall";

// Browsers that send the Enter that ends an input method's composition mark it only by this old code.
const compositionKeyCode = 229;

/** Enter sends, and the arrow keys recall earlier messages. */
export function useComposerKeys(
  text: string,
  setText: (text: string) => void,
  send: () => void,
): (event: KeyboardEvent<HTMLTextAreaElement>) => void {
  const recall = useRecall(text, setText);
  return (event) => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only mark of it in Safari
    if (event.nativeEvent.isComposing || event.keyCode === compositionKeyCode) return;
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      send();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      if (recall(event.key === "ArrowUp" ? "older" : "newer")) event.preventDefault();
    }
  };
}
