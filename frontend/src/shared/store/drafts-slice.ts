import { loadDraft, saveDraft, type ComposerDraft, type Upload } from "@/shared/store/composer-draft";
import type { Slice } from "@/shared/store/slice";

/** Key of the draft of a session; a conversation that is still to be made has one too. */
export const draftKey = (sessionId: string | null) => sessionId ?? "new";

export type DraftsSlice = {
  readonly drafts: Readonly<Record<string, ComposerDraft>>;
  setDraftText: (key: string, text: string) => void;
  changeUploads: (key: string, change: (uploads: readonly Upload[]) => readonly Upload[]) => void;
};

export const createDraftsSlice: Slice<DraftsSlice> = (set) => {
  const change = (key: string, next: (draft: ComposerDraft) => ComposerDraft) =>
    set(({ drafts }) => {
      const draft = next(drafts[key] ?? loadDraft(key));
      saveDraft(key, draft);
      return { drafts: { ...drafts, [key]: draft } };
    });
  return {
    drafts: {},
    setDraftText: (key, text) => change(key, (draft) => ({ ...draft, text })),
    changeUploads: (key, next) => change(key, (draft) => ({ ...draft, uploads: next(draft.uploads) })),
  };
};
