import { useCallback, useEffect, useState } from "react";

import { fetchAudit, type AuditEntry, type AuditFilter } from "@/shared/api/rest";

type Audit = {
  /** Null until the first page is there. */
  readonly entries: readonly AuditEntry[] | null;
  readonly hasMore: boolean;
  readonly hasFailed: boolean;
  readonly loadMore: () => void;
};

/** The entries that fit a filter, page by page; from the beginning again when the filter changes. */
export function useAudit(filter: AuditFilter): Audit {
  const [entries, setEntries] = useState<readonly AuditEntry[] | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [hasFailed, setHasFailed] = useState(false);

  useEffect(() => {
    const abort = new AbortController();
    fetchAudit(filter, undefined, abort.signal).then(
      (page) => {
        setEntries(page.items);
        setCursor(page.next_cursor);
        setHasFailed(false);
      },
      () => {
        if (!abort.signal.aborted) setHasFailed(true);
      },
    );
    return () => abort.abort();
  }, [filter]);

  const loadMore = useCallback(() => {
    if (cursor === null) return;
    fetchAudit(filter, cursor).then(
      (page) => {
        setEntries((known) => [...(known ?? []), ...page.items]);
        setCursor(page.next_cursor);
      },
      () => setHasFailed(true),
    );
  }, [filter, cursor]);

  return { entries, hasMore: cursor !== null, hasFailed, loadMore };
}
