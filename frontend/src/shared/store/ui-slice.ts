import type { Slice } from "@/shared/store/slice";

/** `count` grows with every notice, so that the same words said again are announced again. */
export type Notice = { readonly text: string; readonly count: number };

export type UiSlice = {
  /** The session list as a drawer, on narrow screens. */
  readonly isDrawerOpen: boolean;
  /** A short message about something that did not work, for the person who just did it. */
  readonly notice: Notice | null;
  setDrawerOpen: (isOpen: boolean) => void;
  notify: (text: string) => void;
  dismissNotice: () => void;
};

export const createUiSlice: Slice<UiSlice> = (set) => ({
  isDrawerOpen: false,
  notice: null,
  setDrawerOpen: (isDrawerOpen) => set({ isDrawerOpen }),
  notify: (text) => set(({ notice }) => ({ notice: { text, count: (notice?.count ?? 0) + 1 } })),
  dismissNotice: () => set({ notice: null }),
});
