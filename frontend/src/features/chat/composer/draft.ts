/** What was typed and not sent, per session, kept in this browser. */

const storageKey = (sessionId: string | null) => `csp.draft.${sessionId ?? "new"}`;

export function loadDraft(sessionId: string | null): string {
  try {
    return localStorage.getItem(storageKey(sessionId)) ?? "";
  } catch {
    return "";
  }
}

export function saveDraft(sessionId: string | null, text: string): void {
  try {
    if (text === "") localStorage.removeItem(storageKey(sessionId));
    else localStorage.setItem(storageKey(sessionId), text);
  } catch {
    // Storage full or forbidden: the draft lives as long as the page.
  }
}
