import { useCallback, useEffect, useState } from "react";

import { fetchSessions } from "@/shared/api/rest";
import { useAppStore } from "@/shared/store/app-store";

// Other sessions have no connection here: their status is asked for, often enough to notice one that needs an answer.
const pollMs = 15_000;
const searchPauseMs = 200;

/** Keeps the session list in the store fresh: at once, while the tab is seen, and after a change of the search. */
export function useSessions(query: string): {
  readonly hasFailed: boolean;
  readonly reload: () => void;
  readonly loadMore: () => void;
} {
  const [hasFailed, setHasFailed] = useState(false);
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((n) => n + 1), []);

  useEffect(() => {
    const abort = new AbortController();
    const load = async () => {
      try {
        const page = await fetchSessions({ q: query, signal: abort.signal });
        if (abort.signal.aborted) return;
        useAppStore.getState().setSessions(page);
        setHasFailed(false);
      } catch {
        if (!abort.signal.aborted) setHasFailed(true);
      }
    };
    const loadIfSeen = () => {
      if (document.visibilityState === "visible") void load();
    };
    const first = setTimeout(() => void load(), query === "" ? 0 : searchPauseMs);
    const timer = setInterval(loadIfSeen, pollMs);
    document.addEventListener("visibilitychange", loadIfSeen);
    return () => {
      abort.abort();
      clearTimeout(first);
      clearInterval(timer);
      document.removeEventListener("visibilitychange", loadIfSeen);
    };
  }, [query, round]);

  const loadMore = useCallback(() => {
    const { nextCursor, addSessions } = useAppStore.getState();
    if (nextCursor === null) return;
    fetchSessions({ q: query, cursor: nextCursor }).then(addSessions, () => setHasFailed(true));
  }, [query]);

  return { hasFailed, reload, loadMore };
}
