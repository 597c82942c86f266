// What comes over the wire, as text, into typed frames.
import fc from "fast-check";
import { expect, test } from "vitest";

import { toFrames } from "@/shared/tape/convert";

const envelope = { session_id: "s", turn_id: "t", actor: "agent", ts: "2026-01-01T00:00:00Z" };

test("an event with its envelope is an event", () => {
  const wire = { ...envelope, seq: 3, type: "text", block_id: "b", content: "hi" };
  expect(toFrames(JSON.stringify(wire))).toEqual([{ kind: "event", event: wire }]);
});

test("several events in one message come out in order, as an array or one per line", () => {
  const wire = [1, 2, 3].map((seq) => ({ ...envelope, seq, type: "status", status: "idle" }));
  const seqs = (message: string) =>
    toFrames(message).map((frame) => (frame.kind === "event" ? frame.event.seq : null));
  expect(seqs(JSON.stringify(wire))).toEqual([1, 2, 3]);
  expect(seqs(wire.map((event) => JSON.stringify(event)).join("\n"))).toEqual([1, 2, 3]);
});

test("an error without a number is about a frame, one with a number is on the tape", () => {
  const error = { type: "error", code: "invalid_frame", message: "No.", recoverable: true };
  expect(toFrames(JSON.stringify(error))[0]?.kind).toBe("error");
  expect(toFrames(JSON.stringify({ ...envelope, ...error, seq: 9 }))[0]?.kind).toBe("event");
});

test("an event of an unknown type or without a field it needs keeps its number", () => {
  for (const wire of [
    { ...envelope, seq: 5, type: "hologram" },
    { ...envelope, seq: 5, type: "text", block_id: "b" },
  ]) {
    expect(toFrames(JSON.stringify(wire))).toEqual([
      { kind: "event", event: { seq: 5, type: "unknown", original: wire } },
    ]);
  }
});

test("whatever comes in, nothing is thrown", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (wire) => void toFrames(wire)));
});
