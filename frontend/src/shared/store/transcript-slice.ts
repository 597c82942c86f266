import type { Slice } from "@/shared/store/slice";
import type { TapeEvent, UnknownEvent } from "@/shared/tape/frame";
import { reduce } from "@/shared/tape/reduce";
import { emptyTranscript, type StatusInfo, type Transcript } from "@/shared/tape/transcript";

// Going back to one of the last few conversations shows it at once; more of them would only hold memory.
const keptTranscripts = 6;

/** What the server says of a session at the start of a connection; its tape is newer from then on. */
export type SessionFacts = {
  readonly title: string | null;
  readonly model: string | null;
  readonly permissionMode: string | null;
  /** The plugins that its next agent process works with. */
  readonly plugins: readonly string[];
  /** Who its agent is, by the name that people see; null for nobody in particular. */
  readonly profile: string | null;
  /** What the session did when its tape had `lastSeq`; it may have changed without a word on the tape. */
  readonly status: StatusInfo["name"];
  readonly lastSeq: number;
  readonly costUsd: number;
  readonly contextPercent: number | null;
};

export type TranscriptSlice = {
  readonly sessionId: string | null;
  /** Folds of the sessions seen lately, the one on screen last. */
  readonly transcripts: Readonly<Record<string, Transcript>>;
  /** Ids of the sessions whose tape has been read up to what the server had when we connected. */
  readonly loaded: Readonly<Record<string, boolean>>;
  readonly facts: Readonly<Record<string, SessionFacts>>;
  showSession: (sessionId: string | null) => void;
  setFacts: (sessionId: string, facts: SessionFacts) => void;
  /** What the session does from now on, although its tape does not say so. */
  setStatus: (sessionId: string, status: StatusInfo["name"]) => void;
  applyEvents: (sessionId: string, events: readonly (TapeEvent | UnknownEvent)[]) => void;
  resetTranscript: (sessionId: string) => void;
  setLoaded: (sessionId: string) => void;
};

export const createTranscriptSlice: Slice<TranscriptSlice> = (set) => ({
  sessionId: null,
  transcripts: {},
  loaded: {},
  facts: {},
  setFacts: (sessionId, facts) => set((state) => ({ facts: { ...state.facts, [sessionId]: facts } })),
  setStatus: (sessionId, status) =>
    set(({ facts, transcripts }) => {
      const known = facts[sessionId];
      if (!known) return {};
      const lastSeq = Math.max(known.lastSeq, transcripts[sessionId]?.lastSeq ?? 0);
      return { facts: { ...facts, [sessionId]: { ...known, status, lastSeq } } };
    }),
  showSession: (sessionId) =>
    set(({ transcripts }) => {
      if (sessionId === null) return { sessionId };
      const others = Object.entries(transcripts).filter(([id]) => id !== sessionId);
      const kept = others.slice(-(keptTranscripts - 1));
      const shown = transcripts[sessionId] ?? emptyTranscript;
      return { sessionId, transcripts: { ...Object.fromEntries(kept), [sessionId]: shown } };
    }),
  applyEvents: (sessionId, events) =>
    set((state) => {
      const before = state.transcripts[sessionId] ?? emptyTranscript;
      const after = reduce(before, events);
      return after === before ? state : { transcripts: { ...state.transcripts, [sessionId]: after } };
    }),
  resetTranscript: (sessionId) =>
    set(({ transcripts }) => ({ transcripts: { ...transcripts, [sessionId]: emptyTranscript } })),
  setLoaded: (sessionId) =>
    set((state) => (state.loaded[sessionId] ? state : { loaded: { ...state.loaded, [sessionId]: true } })),
});
