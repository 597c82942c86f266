import { useEffect, useState } from "react";

import { fetchEvent } from "@/shared/api/rest";
import { useAppStore } from "@/shared/store/app-store";
import type { ToolItem, ToolResultContent } from "@/shared/tape/transcript";

/** The whole of a result. Of a long one the tape that we got has only the beginning, and who draws it needs all of it. */
export function useWhole(result: ToolItem["result"]): ToolResultContent | null {
  const sessionId = useAppStore((state) => state.sessionId);
  const [fetched, setFetched] = useState<ToolResultContent | null>(null);
  const missing = result?.isTruncated === true ? result.seq : null;
  useEffect(() => {
    if (missing === null || sessionId === null) return;
    let isWanted = true;
    fetchEvent(sessionId, missing).then(
      (event) => {
        if (isWanted && event.type === "tool_result") setFetched(event.content);
      },
      // The card has a button for it, which says what went wrong.
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [missing, sessionId]);
  return missing === null ? (result?.content ?? null) : fetched;
}
