import { idleConnection, type ConnectionState } from "@/shared/connection/connection-state";
import type { OutgoingMessage } from "@/shared/connection/outbox";
import type { Slice } from "@/shared/store/slice";

export type CaughtUp = { readonly count: number; readonly at: number };

/** The connection of the session on screen. */
export type ConnectionSlice = {
  readonly connection: ConnectionState;
  /** Set when a lost connection came back and everything missed has arrived. */
  readonly caughtUp: CaughtUp | null;
  /** How far this clock is ahead of the server's, in ms; times of events are the server's. */
  readonly clockAheadMs: number;
  /** Messages of the session on screen that its tape has not echoed yet. */
  readonly outbox: readonly OutgoingMessage[];
  setConnection: (connection: ConnectionState) => void;
  setCaughtUp: (caughtUp: CaughtUp | null) => void;
  setOutbox: (outbox: readonly OutgoingMessage[]) => void;
  /** `sampleMs` is this clock minus an event's time: the smallest one seen has the least delay in it. */
  addClockSample: (sampleMs: number) => void;
};

export const createConnectionSlice: Slice<ConnectionSlice> = (set) => ({
  connection: idleConnection,
  caughtUp: null,
  clockAheadMs: Number.POSITIVE_INFINITY,
  outbox: [],
  setConnection: (connection) => set({ connection }),
  setCaughtUp: (caughtUp) => set({ caughtUp }),
  setOutbox: (outbox) => set({ outbox }),
  addClockSample: (sampleMs) =>
    set((state) => (sampleMs < state.clockAheadMs ? { clockAheadMs: sampleMs } : state)),
});

/** An instant of this clock as the server's clock shows it. */
export function toServerTime(clockAheadMs: number, now: number): number {
  return Number.isFinite(clockAheadMs) ? now - clockAheadMs : now;
}
