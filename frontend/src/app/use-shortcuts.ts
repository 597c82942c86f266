import { useEffect, useEffectEvent } from "react";

import { toShortcutName } from "@/app/shortcuts";
import { stopTurn } from "@/features/chat/chat-controller";
import { composerId } from "@/features/chat/composer/composer";
import { sessionSearchId } from "@/features/sessions/session-search";
import { navigate } from "@/shared/lib/router";
import { useAppStore } from "@/shared/store/app-store";

// The drawer has to be on the page before its field can take the focus.
const afterPaint = (action: () => void) => requestAnimationFrame(() => requestAnimationFrame(action));

function focusSearch(): void {
  if (!document.getElementById(sessionSearchId)) useAppStore.getState().setDrawerOpen(true);
  afterPaint(() => document.getElementById(sessionSearchId)?.focus());
}

export function useShortcuts({ onHelp }: { readonly onHelp: () => void }): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    const name = toShortcutName(event);
    if (name === null || event.isComposing) return;
    event.preventDefault();
    switch (name) {
      case "newChat":
        navigate("/");
        afterPaint(() => document.getElementById(composerId)?.focus());
        break;
      case "focusInput":
        document.getElementById(composerId)?.focus();
        break;
      case "stop":
        stopTurn();
        break;
      case "search":
        focusSearch();
        break;
      case "help":
        onHelp();
    }
  });
  useEffect(() => {
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}
