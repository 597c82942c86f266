// Commands over the real connection and outbox; the socket is in the hands of the test.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { closeChat, noteTyping, openChat } from "@/features/chat/chat-controller";
import { forkSession, replaceMessage, wakeSession } from "@/features/chat/session-commands";
import { TestSocket } from "@/shared/connection/test-socket";
import { useAppStore } from "@/shared/store/app-store";

vi.mock(import("@/shared/api/rest"), async (original) => ({
  ...(await original()),
  fetchSession: () => Promise.reject(new Error("not now")),
}));
vi.mock(import("@/shared/api/access-token"), async (original) => ({
  ...(await original()),
  freshToken: () => Promise.resolve("token"),
  refreshToken: () => Promise.resolve("token"),
}));

const tick = () => vi.advanceTimersByTimeAsync(20);
const rewound = (seq: number, before_seq: number) => ({
  seq,
  session_id: "s1",
  turn_id: null,
  actor: "user:1",
  ts: "2026-01-01T00:00:00Z",
  type: "rewound",
  before_seq,
  files_restored: true,
});
const content = { text: "better words", attachments: [] };
const sentTypes = () => TestSocket.last.sent.map(({ type }) => type);

beforeEach(async () => {
  vi.useFakeTimers();
  TestSocket.all.length = 0;
  sessionStorage.clear();
  localStorage.clear();
  useAppStore.setState(useAppStore.getInitialState(), true);
  vi.stubGlobal("WebSocket", TestSocket);
  openChat("s1");
  await tick();
  TestSocket.last.hello(5);
  TestSocket.last.say({ ...rewound(5, 2), type: "status", status: "idle" });
});
afterEach(() => {
  closeChat();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("edit and resend", () => {
  test("sends the new message when the old one is taken back, and not before", async () => {
    const done = replaceMessage(3, true, content);
    await tick();
    expect(TestSocket.last.sent).toEqual([
      { type: "session_command", command: "rewind", before_seq: 3, files: true },
    ]);
    TestSocket.last.say({ type: "session_command_result", command: "rewind", session_id: "s1" });
    await done;
    expect(TestSocket.last.sent[1]).toMatchObject({ type: "user_message", text: "better words" });
  });

  test("sends nothing when it is refused, and says why once, in its place", async () => {
    const done = replaceMessage(3, true, content);
    const refusal = { type: "error", code: "refused", message: "Too late.", recoverable: false };
    TestSocket.last.say({ ...refusal, command: "rewind" });
    await expect(done).rejects.toThrow("Too late.");
    expect(sentTypes()).toEqual(["session_command"]);
    expect(useAppStore.getState().notice).toBeNull();
  });

  test("learns from the tape what was done while the connection was away", async () => {
    const done = replaceMessage(3, true, content);
    TestSocket.last.lose();
    await vi.advanceTimersByTimeAsync(1_000);
    TestSocket.last.hello(6);
    TestSocket.last.say(rewound(6, 3));
    await done;
    await tick();
    expect(sentTypes()).toEqual(["user_message"]);
  });

  test("keeps the text when it was not done, or nobody can tell", async () => {
    const done = replaceMessage(3, true, content);
    const outcome = expect(done).rejects.toThrow();
    TestSocket.last.lose();
    await vi.advanceTimersByTimeAsync(1_000);
    TestSocket.last.hello(5);
    await outcome;
    expect(sentTypes()).toEqual([]);
    expect(useAppStore.getState().drafts["s1"]?.text).toBe("better words");
  });

  test("keeps the text when the person leaves the session meanwhile", async () => {
    const outcome = expect(replaceMessage(3, true, content)).rejects.toThrow();
    closeChat();
    await outcome;
    expect(useAppStore.getState().drafts["s1"]?.text).toBe("better words");
  });
});

test("a fork opens the new session", async () => {
  const done = forkSession(4);
  expect(TestSocket.last.sent).toEqual([{ type: "session_command", command: "fork", at_seq: 4 }]);
  TestSocket.last.say({ type: "session_command_result", command: "fork", session_id: "s2" });
  await done;
  expect(location.pathname).toBe("/s/s2");
});

test("without a connection a command is told to be impossible", async () => {
  TestSocket.last.lose();
  wakeSession();
  expect(useAppStore.getState().notice?.text).toContain("no connection");
  await forkSession();
  expect(useAppStore.getState().notice?.count).toBe(2);
});

test("what the server says besides the tape is the status until the tape says more", async () => {
  TestSocket.last.say({ type: "status", status: "server_shutting_down" });
  expect(useAppStore.getState().facts["s1"]?.status).toBe("server_shutting_down");
  await tick();
});

describe("writing a message", () => {
  const states = () => TestSocket.last.sent.map((frame) => frame["state"] ?? frame["type"]);

  test("is told at once, now and then while it goes on, and when it is over", async () => {
    for (let key = 0; key < 12; key += 1) {
      noteTyping();
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(states()).toEqual(["typing", "typing"]);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(states()).toEqual(["typing", "typing", "active"]);
  });

  test("is told again in another conversation", async () => {
    noteTyping();
    openChat("s2");
    await tick();
    TestSocket.last.hello(0);
    noteTyping();
    expect(states()).toEqual(["typing"]);
  });
});
