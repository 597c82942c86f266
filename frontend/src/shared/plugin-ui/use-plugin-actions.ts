import { useEffect, useEffectEvent } from "react";

import { useAppStore } from "@/shared/store/app-store";
import { loadDraft } from "@/shared/store/composer-draft";
import { draftKey } from "@/shared/store/drafts-slice";

/** Lets plugins write into the conversation that this component shows, or into a new one if there is none yet. */
export function usePluginActions(sessionId: string | null, sendMessage: (text: string) => void): void {
  const send = useEffectEvent(sendMessage);
  useEffect(() => {
    const { setPluginActions } = useAppStore.getState();
    setPluginActions({
      sendMessage: (text) => send(text),
      insertText: (text) => {
        const key = draftKey(sessionId);
        const { drafts, setDraftText } = useAppStore.getState();
        setDraftText(key, [(drafts[key] ?? loadDraft(key)).text, text].filter(Boolean).join(" "));
      },
    });
    return () => setPluginActions(null);
  }, [sessionId]);
}
