// The fold of the tape, against generated tapes and hand-written ones. Nothing is faked: reduce is pure.
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { AnyEvent } from "@/shared/api/frames.gen";
import { reduce } from "@/shared/tape/reduce";
import { anyTape, tape } from "@/shared/tape/tape-fixtures";
import {
  emptyTranscript,
  isQueued,
  isRunning,
  lastStandingTurn,
  type ToolItem,
} from "@/shared/tape/transcript";

const message = (text: string, client_id = "c1"): AnyEvent => ({ type: "user_message", text, client_id });
const delta = (block_id: string, text: string): AnyEvent => ({
  type: "stream_event",
  block_id,
  kind: "text",
  delta: text,
});
const text = (block_id: string, content: string): AnyEvent => ({ type: "text", block_id, content });
const toolUse = (tool_use_id: string, tool = "Bash", parent: string | null = null): AnyEvent => ({
  type: "tool_use",
  tool_use_id,
  tool,
  input: { command: "ls" },
  parent_tool_use_id: parent,
});
const result = (subtype: "success" | "interrupted" = "success"): AnyEvent => ({
  type: "result",
  subtype,
  is_error: false,
  cost_usd: 0.25,
});
const fold = (payloads: readonly AnyEvent[]) => reduce(emptyTranscript, tape(payloads));
const toolIn = (payloads: readonly AnyEvent[], id = "t1") => fold(payloads).items[`tool:${id}`] as ToolItem;

describe("any tape", () => {
  test("split into any batches folds to the same transcript", () => {
    fc.assert(
      fc.property(anyTape, fc.array(fc.integer({ min: 1, max: 9 })), (events, sizes) => {
        let split = emptyTranscript;
        let from = 0;
        for (const size of [...sizes, events.length]) {
          split = reduce(split, events.slice(from, from + size));
          from += size;
        }
        expect(split).toEqual(reduce(emptyTranscript, events));
      }),
    );
  });

  test("replayed with any overlap after a reconnect folds to the same transcript", () => {
    fc.assert(
      fc.property(anyTape, fc.nat(), fc.nat(), (events, cut, overlap) => {
        const lostAt = cut % (events.length + 1);
        const replayFrom = Math.max(0, lostAt - (overlap % (lostAt + 1)));
        const before = reduce(emptyTranscript, events.slice(0, lostAt));
        expect(reduce(before, events.slice(replayFrom))).toEqual(reduce(emptyTranscript, events));
      }),
    );
  });

  test("that was applied already leaves the very same object", () => {
    fc.assert(
      fc.property(anyTape, (events) => {
        const once = reduce(emptyTranscript, events);
        expect(reduce(once, events)).toBe(once);
      }),
    );
  });

  test("never changes the transcript it is folded onto", () => {
    fc.assert(
      fc.property(anyTape, fc.nat(), (events, cut) => {
        const base = reduce(emptyTranscript, events.slice(0, cut % (events.length + 1)));
        const copy = structuredClone(base);
        reduce(base, events);
        expect(base).toEqual(copy);
      }),
    );
  });

  test("lists every item in its turn exactly once and no key without an item", () => {
    fc.assert(
      fc.property(anyTape, (events) => {
        const { turns, items } = reduce(emptyTranscript, events);
        const listed = Object.values(turns).flatMap((turn) => [...turn.itemKeys, ...turn.takenBackKeys]);
        expect(listed.toSorted()).toEqual(Object.keys(items).toSorted());
      }),
    );
  });
});

describe("blocks", () => {
  test("grow by deltas and are replaced by the complete block in their place", () => {
    const streaming = fold([message("hi"), delta("a", "Hel"), delta("a", "lo"), delta("b", "x")]);
    expect(streaming.items["block:a"]).toMatchObject({ content: "Hello", state: "streaming" });
    const complete = reduce(streaming, tape([text("a", "Hello there")], "turn-1", 5));
    expect(complete.items["block:a"]).toMatchObject({ content: "Hello there", state: "complete" });
    expect(complete.turns["turn-1"]?.itemKeys).toEqual(["block:a", "block:b"]);
  });

  test("read the same from a compacted tape without deltas as from the live one", () => {
    const live = fold([message("hi"), delta("a", "Hel"), text("a", "Hello"), result()]);
    const [first, , third, fourth] = tape([message("hi"), delta("a", "Hel"), text("a", "Hello"), result()]);
    const compacted = reduce(
      emptyTranscript,
      [first, third, fourth].filter((event) => event !== undefined),
    );
    const shown = (transcript: typeof live) =>
      Object.values(transcript.items).map((item) => ({ ...item, startedAt: null }));
    expect(shown(compacted)).toEqual(shown(live));
    expect(compacted.turns).toEqual(live.turns);
  });

  test("are withdrawn by an empty complete block", () => {
    const transcript = fold([message("hi"), delta("a", "Hel"), text("a", ""), text("b", "Again")]);
    expect(transcript.items["block:a"]).toBeUndefined();
    expect(transcript.turns["turn-1"]?.itemKeys).toEqual(["block:b"]);
  });

  test("ignore deltas that come after the complete block", () => {
    expect(fold([text("a", "Done"), delta("a", "late")]).items["block:a"]).toMatchObject({ content: "Done" });
  });

  test("that are partial or unfinished at the result are shown as cut off", () => {
    const transcript = fold([
      message("hi"),
      { type: "text", block_id: "a", content: "Hel", partial: true },
      delta("b", "Wor"),
      result("interrupted"),
    ]);
    expect(transcript.items["block:a"]).toMatchObject({ state: "cut_off" });
    expect(transcript.items["block:b"]).toMatchObject({ state: "cut_off", content: "Wor" });
  });
});

describe("tools", () => {
  test("go from writing to running to done", () => {
    const writing: AnyEvent = { type: "stream_event", block_id: "t1", kind: "tool_input", delta: '{"comm' };
    const done: AnyEvent = { type: "tool_result", tool_use_id: "t1", content: "ok", duration_ms: 40 };
    expect(toolIn([writing])).toMatchObject({ state: "writing", inputText: '{"comm' });
    expect(toolIn([writing, toolUse("t1")])).toMatchObject({ state: "running", tool: "Bash" });
    expect(toolIn([writing, toolUse("t1"), done])).toMatchObject({ state: "done", durationMs: 40 });
  });

  test("say failed for an error result and stopped when the turn ends without one", () => {
    const failed: AnyEvent = { type: "tool_result", tool_use_id: "t1", content: "no", is_error: true };
    expect(toolIn([toolUse("t1"), failed]).state).toBe("failed");
    expect(toolIn([toolUse("t1"), result("interrupted")]).state).toBe("stopped");
  });

  test("of a subagent hang under the call that started it", () => {
    const transcript = fold([
      toolUse("agent", "Agent"),
      { type: "agent_start", agent_id: "agent", agent_type: "explorer", description: "Look around" },
      toolUse("t1", "Read", "agent"),
      { type: "text", block_id: "a", content: "Found", parent_tool_use_id: "agent" },
    ]);
    expect(transcript.childKeys["agent"]).toEqual(["tool:t1", "block:a"]);
    expect(transcript.items["tool:agent"]).toMatchObject({ agent: { type: "explorer", isRunning: true } });
  });
});

describe("permission requests", () => {
  const request: AnyEvent = {
    type: "permission_request",
    request_id: "r1",
    tool: "Bash",
    tool_use_id: "t1",
    input: { command: "rm x" },
    expires_at: "2026-01-01T00:05:00Z",
  };
  const resolved = (decision: "allow" | "deny"): AnyEvent => ({
    type: "permission_resolved",
    request_id: "r1",
    decision,
    by: "user-1",
  });

  test("make their tool wait and are listed until they are resolved", () => {
    expect(toolIn([toolUse("t1"), request]).state).toBe("waiting");
    expect(fold([toolUse("t1"), request]).waitingKeys).toEqual(["tool:t1"]);
    expect(toolIn([toolUse("t1"), request, resolved("allow")]).state).toBe("running");
    expect(fold([toolUse("t1"), request, resolved("allow")]).waitingKeys).toEqual([]);
  });

  test("that were denied keep the tool denied when the error result arrives", () => {
    const refusal: AnyEvent = { type: "tool_result", tool_use_id: "t1", content: "denied", is_error: true };
    expect(toolIn([toolUse("t1"), request, resolved("deny"), refusal]).state).toBe("denied");
  });

  test("may come before their tool call or without one", () => {
    expect(toolIn([request, toolUse("t1")])).toMatchObject({ state: "waiting", tool: "Bash" });
    const alone = fold([{ ...request, tool_use_id: null }]);
    expect(alone.waitingKeys).toEqual(["tool:request:r1"]);
  });

  test("end with their turn", () => {
    expect(fold([toolUse("t1"), request, result("interrupted")]).waitingKeys).toEqual([]);
  });
});

describe("turns", () => {
  test("run until their result and add up what they cost", () => {
    const running = fold([message("hi")]);
    expect(isRunning(running)).toBe(true);
    const over = reduce(running, tape([result()], "turn-1", 2));
    expect(isRunning(over)).toBe(false);
    expect(over.costUsd).toBe(0.25);
  });

  test("opened while another runs are queued until it ends", () => {
    const first = fold([message("one"), delta("a", "x")]);
    const both = reduce(first, tape([message("two", "c2")], "turn-2", 3));
    expect(isQueued(both, "turn-2")).toBe(true);
    expect(isQueued(both, "turn-1")).toBe(false);
    expect(isQueued(reduce(both, tape([result()], "turn-1", 4)), "turn-2")).toBe(false);
  });

  test("are not opened by an error or a status of the session", () => {
    const crash: AnyEvent = { type: "error", code: "subprocess_crash", message: "gone", recoverable: true };
    const transcript = fold([message("hi"), result(), crash, { type: "status", status: "recovered" }]);
    expect(isRunning(transcript)).toBe(false);
    expect(transcript.turns["turn-1"]?.itemKeys).toEqual(["seq:3", "seq:4"]);
  });
});

describe("a rewind", () => {
  const rewound = (before_seq: number, files_restored = false): AnyEvent => ({
    type: "rewound",
    before_seq,
    files_restored,
  });
  const turn = (id: string, firstSeq: number) =>
    tape([message(`ask ${id}`, id), text(`block ${id}`, "Answer"), result()], id, firstSeq);
  const back = (seq: number, before: number) => tape([rewound(before, true)], null, seq);
  const taken = (transcript: ReturnType<typeof reduce>) =>
    transcript.turnIds.filter((id) => transcript.turns[id]?.rewind !== null);

  test("takes back the message it names and all that came after it", () => {
    const transcript = reduce(emptyTranscript, [
      ...turn("a", 1),
      ...turn("b", 4),
      ...turn("c", 7),
      ...back(10, 4),
      ...turn("d", 11),
    ]);
    expect(taken(transcript)).toEqual(["b", "c"]);
    expect(transcript.turns["b"]?.rewind).toEqual({ seq: 10, hasRestoredFiles: true });
    expect(lastStandingTurn(transcript)?.id).toBe("d");
  });

  test("may follow another, in front of it or around it", () => {
    const once = reduce(emptyTranscript, [...turn("a", 1), ...turn("b", 4), ...back(7, 4), ...turn("c", 8)]);
    expect(taken(reduce(once, [...back(11, 8), ...turn("d", 12)]))).toEqual(["b", "c"]);
    expect(taken(reduce(once, back(11, 1)))).toEqual(["a", "b", "c"]);
  });

  test("ends a turn that was waiting, and no late event opens it again", () => {
    const waiting = reduce(emptyTranscript, [...tape([message("hi")], "a", 1), ...back(2, 1)]);
    expect(isRunning(waiting)).toBe(false);
    expect(isRunning(reduce(waiting, tape([delta("x", "late")], "a", 3)))).toBe(false);
  });

  test("to a message that was sent during an answer takes back the rest of that answer", () => {
    const events = [
      ...tape([message("first"), text("one", "Before")], "a", 1),
      ...tape([message("meanwhile", "c2")], "b", 3),
      ...tape([delta("two", "Af"), text("two", "After"), result()], "a", 4),
      ...tape([result("interrupted")], "b", 7),
      ...back(8, 3),
    ];
    const live = reduce(emptyTranscript, events);
    expect(live.turns["a"]).toMatchObject({
      itemKeys: ["block:one"],
      takenBackKeys: ["block:two"],
      rewind: null,
    });
    expect(taken(live)).toEqual(["b"]);
    const compacted = events.filter((event) => event.type !== "stream_event");
    expect(reduce(emptyTranscript, compacted).turns).toEqual(live.turns);
  });

  test("withdraws questions that were open", () => {
    const request: AnyEvent = {
      type: "permission_request",
      request_id: "r1",
      tool: "Bash",
      tool_use_id: "t1",
      input: {},
      expires_at: "2026-01-01T00:05:00Z",
    };
    expect(fold([message("hi"), toolUse("t1"), request, rewound(1)]).waitingKeys).toEqual([]);
  });
});

test("a notice joins the turn that was the latest", () => {
  const transcript = reduce(emptyTranscript, [
    ...tape([message("hi"), result()], "a", 1),
    ...tape([{ type: "notice", code: "memory_restart", message: "Restarted." }], null, 3),
  ]);
  expect(transcript.turns["a"]?.itemKeys).toEqual(["seq:3"]);
  expect(transcript.items["seq:3"]).toMatchObject({ kind: "notice", code: "memory_restart" });
});

test("a tool that could not be run is told with its plugin, and is no failure of the turn", () => {
  const { items } = fold([
    message("hi"),
    { type: "tool_error", tool: "mcp__dice__roll", plugin: "dice", message: "Its process ended." },
  ]);
  expect(items["seq:2"]).toMatchObject({
    kind: "notice",
    message: "Its process ended.",
    tool: { name: "mcp__dice__roll", plugin: "dice" },
  });
});

test("plugins keep the state they were switched to last", () => {
  const switched = (plugins: Record<string, boolean>): AnyEvent => ({ type: "session_updated", plugins });
  const { settings } = fold([
    switched({ dice: false, notes: false }),
    { type: "session_updated", title: "New" },
    switched({ dice: true }),
  ]);
  expect(settings).toMatchObject({ title: "New", plugins: { dice: true, notes: false } });
});

test("a status says its place in the queue", () => {
  const { status } = fold([message("hi"), { type: "status", status: "preparing", queue_position: 3 }]);
  expect(status).toMatchObject({ name: "preparing", queuePosition: 3, seq: 2 });
});

test("an event this version does not know moves the cursor and changes nothing else", () => {
  const transcript = reduce(emptyTranscript, [{ seq: 7, type: "unknown", original: {} }]);
  expect(transcript).toEqual({ ...emptyTranscript, lastSeq: 7 });
});
