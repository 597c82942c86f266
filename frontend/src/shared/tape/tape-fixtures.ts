import fc from "fast-check";

import type { AnyEvent } from "@/shared/api/frames.gen";
import type { TapeEvent } from "@/shared/tape/frame";

const firstInstant = Date.UTC(2026, 0, 1);

/** Puts payloads on a tape: numbers from 1 (or by `seqs`), one second apart, all in `turnId` unless they say. */
export function tape(
  payloads: readonly AnyEvent[],
  turnId: string | null = "turn-1",
  firstSeq = 1,
): readonly TapeEvent[] {
  return payloads.map((payload, index) => ({
    seq: firstSeq + index,
    session_id: "session-1",
    turn_id: turnId,
    actor: "agent",
    ts: new Date(firstInstant + (firstSeq + index) * 1000).toISOString(),
    ...payload,
  }));
}

const id = (prefix: string) => fc.integer({ min: 1, max: 4 }).map((n) => `${prefix}-${n}`);
const words = fc.string({ maxLength: 12 });
const input = fc.dictionary(fc.string({ minLength: 1, maxLength: 4 }), words, { maxKeys: 2 });
const parent = fc.option(id("tool"), { nil: undefined, freq: 3 });

function record<T extends AnyEvent>(model: { [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<T> {
  return fc.record(model);
}

/** Any event in any order, sensible or not: the fold must hold for tapes no server would write. */
export const anyPayload: fc.Arbitrary<AnyEvent> = fc.oneof(
  record({ type: fc.constant("user_message" as const), text: words, client_id: id("client") }),
  record({
    type: fc.constant("status" as const),
    status: fc.constantFrom("idle" as const, "recovered" as const),
  }),
  record({
    type: fc.constant("stream_event" as const),
    block_id: fc.oneof(id("block"), id("tool")),
    kind: fc.constantFrom("text" as const, "thinking" as const, "tool_input" as const),
    delta: words,
  }),
  record({
    type: fc.constantFrom("text" as const, "thinking" as const),
    block_id: id("block"),
    content: words,
    partial: fc.boolean(),
    parent_tool_use_id: parent,
  } as never),
  record({
    type: fc.constant("tool_use" as const),
    tool_use_id: id("tool"),
    tool: fc.constant("Bash"),
    input,
    parent_tool_use_id: parent,
  }),
  record({
    type: fc.constant("tool_result" as const),
    tool_use_id: id("tool"),
    content: words,
    is_error: fc.boolean(),
  }),
  record({
    type: fc.constant("permission_request" as const),
    request_id: id("request"),
    tool: fc.constant("Write"),
    input,
    tool_use_id: fc.option(id("tool"), { nil: null }),
    expires_at: fc.constant("2026-01-01T00:05:00Z"),
  }),
  record({
    type: fc.constant("permission_resolved" as const),
    request_id: id("request"),
    decision: fc.constantFrom("allow" as const, "deny" as const),
    by: fc.constant("user-1"),
  }),
  record({
    type: fc.constantFrom("agent_start" as const, "agent_stop" as const),
    agent_id: id("tool"),
    agent_type: words,
    description: words,
  } as never),
  record({
    type: fc.constant("result" as const),
    subtype: fc.constantFrom("success" as const, "interrupted" as const, "error" as const),
    is_error: fc.boolean(),
    cost_usd: fc.integer({ min: 0, max: 8 }),
  }),
  record({
    type: fc.constant("error" as const),
    code: fc.constant("subprocess_crash"),
    message: words,
    recoverable: fc.boolean(),
  }),
  record({ type: fc.constant("notice" as const), code: fc.constant("memory_restart"), message: words }),
  record({
    type: fc.constant("rewound" as const),
    before_seq: fc.integer({ min: 1, max: 60 }),
    files_restored: fc.boolean(),
  }),
);

/** A tape with holes in its numbers and events of several turns, some of no turn. */
export const anyTape: fc.Arbitrary<readonly TapeEvent[]> = fc
  .array(
    fc.tuple(anyPayload, fc.integer({ min: 1, max: 3 }), fc.option(id("turn"), { nil: null, freq: 5 })),
    {
      maxLength: 60,
    },
  )
  .map((entries) => {
    let seq = 0;
    return entries.map(([payload, step, turnId]) => {
      seq += step;
      return {
        seq,
        session_id: "session-1",
        turn_id: turnId,
        actor: "agent",
        ts: new Date(firstInstant + seq * 1000).toISOString(),
        ...payload,
      };
    });
  });
