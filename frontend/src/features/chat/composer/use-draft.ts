import { useMemo } from "react";

import { useAppStore } from "@/shared/store/app-store";
import { loadDraft, type ComposerDraft } from "@/shared/store/composer-draft";

/** What stands in a composer; at first what this browser kept of it. */
export function useDraft(key: string): ComposerDraft {
  const stored = useMemo(() => loadDraft(key), [key]);
  return useAppStore((state) => state.drafts[key]) ?? stored;
}
