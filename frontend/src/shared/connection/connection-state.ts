/** Why there is no connection now, or why there was none a moment ago. */
export type LossReason =
  | "lost"
  | "restarting"
  | "too_slow"
  | "too_many"
  | "forbidden"
  | "not_found"
  | "replaced"
  | "refused"
  | "signed_out";

export type ConnectionState = {
  readonly phase: "idle" | "connecting" | "open" | "reconnecting" | "closed";
  /** Failed attempts since the last open connection; 0 on the first. */
  readonly attempt: number;
  /** How often a token was refused since the last open connection. */
  readonly refusals: number;
  readonly reason: LossReason | null;
};

export type ConnectionInput =
  | { readonly type: "start" }
  | { readonly type: "hello" }
  /** `jitter` is random in [0, 1): given from outside so that the transition stays pure. */
  | { readonly type: "closed"; readonly code: number; readonly jitter: number }
  | { readonly type: "retry" }
  | { readonly type: "token_refused" }
  | { readonly type: "stop" };

export type ConnectionEffect =
  | { readonly type: "none" }
  | { readonly type: "connect"; readonly hasFreshToken: boolean }
  | { readonly type: "wait"; readonly delayMs: number };

export const idleConnection: ConnectionState = { phase: "idle", attempt: 0, refusals: 0, reason: null };

// Long enough not to hammer a server that restarts, short enough that a blink of the network is not felt.
const firstDelayMs = 500;
const longestDelayMs = 10_000;
// The server said that we are too many: come back when somebody may have left.
const crowdedDelayMs = 5_000;
// A second refusal right after a fresh token is not about the token's age.
const maxRefusals = 1;

const reasons: Readonly<Record<number, LossReason>> = {
  1008: "refused",
  1012: "restarting",
  4401: "signed_out",
  4403: "forbidden",
  4404: "not_found",
  4408: "too_slow",
  4409: "replaced",
  4429: "too_many",
};

const finalReasons: ReadonlySet<LossReason> = new Set(["forbidden", "not_found", "replaced", "refused"]);

/** Doubles from half a second to ten, each drawn from the upper half so that clients do not return in step. */
export function backOffMs(attempt: number, jitter: number): number {
  const ceiling = Math.min(longestDelayMs, firstDelayMs * 2 ** attempt);
  return Math.round(ceiling * (0.5 + jitter / 2));
}

function afterClose(
  state: ConnectionState,
  code: number,
  jitter: number,
): readonly [ConnectionState, ConnectionEffect] {
  const reason = reasons[code] ?? "lost";
  if (finalReasons.has(reason)) {
    return [{ phase: "closed", attempt: 0, refusals: 0, reason }, { type: "none" }];
  }
  if (reason === "signed_out") {
    if (state.refusals >= maxRefusals) {
      return [{ phase: "closed", attempt: 0, refusals: 0, reason }, { type: "none" }];
    }
    return [
      { ...state, phase: "reconnecting", refusals: state.refusals + 1, reason: "lost" },
      { type: "connect", hasFreshToken: true },
    ];
  }
  const delayMs = reason === "too_many" ? crowdedDelayMs * (1 + jitter) : backOffMs(state.attempt, jitter);
  return [
    { ...state, phase: "reconnecting", attempt: state.attempt + 1, reason },
    { type: "wait", delayMs },
  ];
}

/** The next state of a connection and what to do about it. Pure; the socket and the clock live in ChatConnection. */
export function nextConnection(
  state: ConnectionState,
  input: ConnectionInput,
): readonly [ConnectionState, ConnectionEffect] {
  switch (input.type) {
    case "start":
      return [
        { phase: "connecting", attempt: 0, refusals: 0, reason: null },
        { type: "connect", hasFreshToken: false },
      ];
    case "hello":
      return [{ phase: "open", attempt: 0, refusals: 0, reason: null }, { type: "none" }];
    case "closed":
      if (state.phase === "closed" || state.phase === "idle") return [state, { type: "none" }];
      return afterClose(state, input.code, input.jitter);
    case "retry":
      if (state.phase !== "reconnecting") return [state, { type: "none" }];
      return [state, { type: "connect", hasFreshToken: false }];
    case "token_refused":
      return [{ phase: "closed", attempt: 0, refusals: 0, reason: "signed_out" }, { type: "none" }];
    case "stop":
      return [idleConnection, { type: "none" }];
  }
}
