import { useEffect, useEffectEvent, useState } from "react";

import { useAppStore } from "@/shared/store/app-store";
import type { Upload } from "@/shared/store/composer-draft";
import { draftKey } from "@/shared/store/drafts-slice";

const isUnderWay = ({ state }: Upload) => state === "waiting" || state === "uploading";

/**
 * Sends at once, or as soon as every file is uploaded. A file that fails, or leaving the session, calls it off: text
 * and files stay where they are. A conversation without a session sends at once: its files wait for the session.
 */
export function useSendWhenUploaded(
  sessionId: string | null,
  uploads: readonly Upload[],
  sendNow: () => void,
): { readonly isWaiting: boolean; readonly send: () => void } {
  const [isAsked, setIsAsked] = useState(false);
  const finish = useEffectEvent((settled: readonly Upload[]) => {
    setIsAsked(false);
    if (settled.every(({ state }) => state === "ready")) sendNow();
  });
  useEffect(() => {
    if (!isAsked) return;
    const unsubscribe = useAppStore.subscribe(({ drafts }) => {
      const settled = drafts[draftKey(sessionId)]?.uploads;
      if (!settled || settled.some(isUnderWay)) return;
      // Sending changes the store as well.
      unsubscribe();
      finish(settled);
    });
    return unsubscribe;
  }, [isAsked, sessionId]);

  const send = () => {
    if (sessionId !== null && uploads.some(isUnderWay)) setIsAsked(true);
    else sendNow();
  };
  return { isWaiting: isAsked, send };
}
