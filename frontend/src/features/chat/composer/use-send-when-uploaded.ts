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
  const check = useEffectEvent(() => {
    const draft = useAppStore.getState().drafts[draftKey(sessionId)];
    if (!draft || draft.uploads.some(isUnderWay)) return;
    setIsAsked(false);
    if (draft.uploads.every(({ state }) => state === "ready")) sendNow();
  });
  useEffect(() => {
    if (!isAsked) return;
    return useAppStore.subscribe((state, before) => {
      if (state.drafts !== before.drafts) check();
    });
  }, [isAsked]);

  const send = () => {
    if (sessionId !== null && uploads.some(isUnderWay)) setIsAsked(true);
    else sendNow();
  };
  return { isWaiting: isAsked, send };
}
