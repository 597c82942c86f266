import type { SessionPage, SessionSummary } from "@/shared/api/rest";
import type { Slice } from "@/shared/store/slice";

/** The session list. */
export type SessionsSlice = {
  /** Null until the first answer. */
  readonly sessions: readonly SessionSummary[] | null;
  readonly nextCursor: string | null;
  setSessions: (page: SessionPage) => void;
  addSessions: (page: SessionPage) => void;
  /** Puts a session at the top, in place of its older row. */
  putSession: (session: SessionSummary) => void;
  patchSession: (id: string, change: Partial<SessionSummary>) => void;
  removeSession: (id: string) => void;
};

export const createSessionsSlice: Slice<SessionsSlice> = (set) => ({
  sessions: null,
  nextCursor: null,
  setSessions: (page) => set({ sessions: page.items, nextCursor: page.next_cursor }),
  addSessions: (page) =>
    set(({ sessions }) => {
      const known = new Set(sessions?.map(({ id }) => id));
      const added = page.items.filter(({ id }) => !known.has(id));
      return { sessions: [...(sessions ?? []), ...added], nextCursor: page.next_cursor };
    }),
  putSession: (session) =>
    set(({ sessions }) => ({
      sessions: [session, ...(sessions ?? []).filter(({ id }) => id !== session.id)],
    })),
  patchSession: (id, change) =>
    set(({ sessions }) => ({
      sessions: sessions?.map((session) => (session.id === id ? { ...session, ...change } : session)) ?? null,
    })),
  removeSession: (id) =>
    set(({ sessions }) => ({ sessions: sessions?.filter((session) => session.id !== id) ?? null })),
});
