import { useCallback, useEffect, useState } from "react";

import type { Page, PageQuery } from "@/shared/api/admin";

const searchPauseMs = 200;

export type Pages<T> = {
  /** Null until the first page is there. */
  readonly items: readonly T[] | null;
  readonly hasMore: boolean;
  readonly hasFailed: boolean;
  readonly loadMore: () => void;
  readonly reload: () => void;
};

/** A list that is loaded page by page, and anew when the search changes. `fetchPage` must stay the same function. */
export function usePages<T>(fetchPage: (query: PageQuery) => Promise<Page<T>>, q = ""): Pages<T> {
  const [items, setItems] = useState<readonly T[] | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [hasFailed, setHasFailed] = useState(false);
  const [round, setRound] = useState(0);

  useEffect(() => {
    const abort = new AbortController();
    const load = async () => {
      try {
        const page = await fetchPage({ q, signal: abort.signal });
        setItems(page.items);
        setCursor(page.next_cursor);
        setHasFailed(false);
      } catch {
        if (!abort.signal.aborted) setHasFailed(true);
      }
    };
    const timer = setTimeout(() => void load(), q === "" ? 0 : searchPauseMs);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [fetchPage, q, round]);

  const loadMore = () => {
    if (cursor === null) return;
    fetchPage({ q, cursor }).then(
      (page) => {
        setItems((before) => [...(before ?? []), ...page.items]);
        setCursor(page.next_cursor);
      },
      () => setHasFailed(true),
    );
  };
  const reload = useCallback(() => setRound((n) => n + 1), []);
  return { items, hasMore: cursor !== null, hasFailed, loadMore, reload };
}
