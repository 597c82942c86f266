// The connection's behaviour against a socket that the test drives; state machine, outbox and converter are real.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { ChatConnection, type ChatConnectionOptions } from "@/shared/connection/chat-connection";
import {
  backOffMs,
  idleConnection,
  nextConnection,
  type ConnectionState,
} from "@/shared/connection/connection-state";
import { Outbox } from "@/shared/connection/outbox";
import { TestSocket } from "@/shared/connection/test-socket";

function event(seq: number, payload: object = { type: "status", status: "idle" }) {
  return { seq, session_id: "s1", turn_id: null, actor: "agent", ts: "2026-01-01T00:00:00Z", ...payload };
}

const just = (text: string) => ({ text, attachments: [] });

function connect(overrides: Partial<ChatConnectionOptions> = {}) {
  const spies = {
    onState: vi.fn<ChatConnectionOptions["onState"]>(),
    onEvents: vi.fn<ChatConnectionOptions["onEvents"]>(),
    onHello: vi.fn<ChatConnectionOptions["onHello"]>(),
    onGap: vi.fn<ChatConnectionOptions["onGap"]>(),
    onCaughtUp: vi.fn<ChatConnectionOptions["onCaughtUp"]>(),
    onError: vi.fn<ChatConnectionOptions["onError"]>(),
    onCommandResult: vi.fn<ChatConnectionOptions["onCommandResult"]>(),
    onStatus: vi.fn<ChatConnectionOptions["onStatus"]>(),
    getToken: vi.fn<ChatConnectionOptions["getToken"]>().mockResolvedValue("token-1"),
  };
  const outbox = new Outbox("s1", () => undefined);
  const connection = new ChatConnection({
    sessionId: "s1",
    after: 0,
    outbox,
    openSocket: (url, protocols) => new TestSocket(url, protocols) as unknown as WebSocket,
    ...spies,
    ...overrides,
  });
  open.push(connection);
  connection.start();
  return { connection, outbox, ...spies };
}

const open: ChatConnection[] = [];
const tick = () => vi.advanceTimersByTimeAsync(0);
const lastState = (spy: { mock: { lastCall?: [ConnectionState] | undefined } }) => spy.mock.lastCall?.[0];

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  for (const connection of open.splice(0)) connection.stop();
  TestSocket.all.splice(0);
  vi.useRealTimers();
});

describe("opening", () => {
  test("offers the protocol and the token, and names session and cursor in the address", async () => {
    connect({ after: 12 });
    await tick();
    expect(TestSocket.last.protocols).toEqual(["csp.v1", "csp.bearer.token-1"]);
    expect(TestSocket.last.url).toMatch(/\/ws\/v1\/chat\?session_id=s1&after=12$/);
  });

  test("counts as open from hello on, not before", async () => {
    const { onState } = connect();
    await tick();
    expect(lastState(onState)?.phase).toBe("connecting");
    TestSocket.last.hello();
    expect(lastState(onState)?.phase).toBe("open");
  });
});

describe("a lost connection", () => {
  test("comes back after the back-off and asks for what follows the last event it saw", async () => {
    const { onState, onCaughtUp } = connect();
    await tick();
    TestSocket.last.hello(2);
    TestSocket.last.say([event(1), event(2)]);
    TestSocket.last.lose();
    expect(lastState(onState)).toMatchObject({ phase: "reconnecting", reason: "lost" });
    await vi.advanceTimersByTimeAsync(500);
    expect(TestSocket.all).toHaveLength(2);
    expect(TestSocket.last.after).toBe("2");
    TestSocket.last.hello(7);
    TestSocket.last.say([event(4), event(7)]);
    expect(onCaughtUp).toHaveBeenCalledExactlyOnceWith(2, expect.any(Number));
  });

  test("is tried again at once when the browser is online again", async () => {
    connect();
    await tick();
    TestSocket.last.lose();
    dispatchEvent(new Event("online"));
    await tick();
    expect(TestSocket.all).toHaveLength(2);
  });

  test("is noticed when a ping is not answered", async () => {
    const { onState } = connect();
    await tick();
    TestSocket.last.hello();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(TestSocket.last.sent).toContainEqual({ type: "ping" });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lastState(onState)?.phase).toBe("reconnecting");
  });

  test("is kept when pings are answered", async () => {
    const { onState } = connect();
    await tick();
    TestSocket.last.hello();
    for (let round = 0; round < 3; round += 1) {
      await vi.advanceTimersByTimeAsync(20_000);
      TestSocket.last.say({ type: "pong" });
    }
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lastState(onState)?.phase).toBe("open");
    expect(TestSocket.all).toHaveLength(1);
  });

  test("that was stopped on purpose does not come back", async () => {
    const { connection } = connect();
    await tick();
    TestSocket.last.hello();
    connection.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(TestSocket.all).toHaveLength(1);
  });
});

describe("messages", () => {
  test("sent without a connection go out after hello and again after each reconnect until they are echoed", async () => {
    const { connection, outbox } = connect();
    const client_id = connection.sendMessage(just("hi"));
    await tick();
    TestSocket.last.hello();
    const frame = { type: "user_message", client_id, text: "hi" };
    expect(TestSocket.last.sent).toEqual([frame]);
    TestSocket.last.lose();
    await vi.advanceTimersByTimeAsync(500);
    TestSocket.last.hello();
    expect(TestSocket.last.sent).toEqual([frame]);
    TestSocket.last.say(event(1, { type: "user_message", client_id, text: "hi" }));
    expect(outbox.waiting).toEqual([]);
    TestSocket.last.lose();
    await vi.advanceTimersByTimeAsync(1_000);
    TestSocket.last.hello(1);
    expect(TestSocket.last.sent).toEqual([]);
  });

  test("name the files they carry", async () => {
    const { connection } = connect();
    const file = { attachment_id: "a1", name: "plan.pdf", media_type: "application/pdf", size_bytes: 9 };
    await tick();
    TestSocket.last.hello();
    connection.sendMessage({ text: "", attachments: [file] });
    expect(TestSocket.last.sent).toMatchObject([{ type: "user_message", text: "", attachments: ["a1"] }]);
  });

  test("that an earlier version of the page left behind are sent without files", () => {
    sessionStorage.setItem("csp.outbox.s1", JSON.stringify([{ clientId: "c", text: "hi", refusal: null }]));
    expect(new Outbox("s1", () => undefined).waiting).toMatchObject([{ text: "hi", attachments: [] }]);
  });

  test("that wait survive a reload of the page", () => {
    const { connection } = connect();
    connection.sendMessage(just("do not lose me"));
    expect(new Outbox("s1", () => undefined).waiting).toMatchObject([{ text: "do not lose me" }]);
  });

  test("that were refused are not sent again", async () => {
    const { connection, outbox } = connect();
    outbox.refuse("This message is too long.", connection.sendMessage(just("too long")));
    await tick();
    TestSocket.last.hello();
    expect(TestSocket.last.sent).toEqual([]);
  });
});

describe("commands", () => {
  test("are not kept for later when there is no connection", async () => {
    const { connection } = connect();
    expect(connection.command({ command: "resume" })).toBe(false);
    await tick();
    TestSocket.last.hello();
    expect(TestSocket.last.sent).toEqual([]);
    expect(connection.command({ command: "rewind", before_seq: 4, files: true })).toBe(true);
    expect(TestSocket.last.sent).toEqual([
      { type: "session_command", command: "rewind", before_seq: 4, files: true },
    ]);
  });

  test("are answered, and a refused one leaves the answers to permission requests alone", async () => {
    const { connection, onCommandResult, onError } = connect();
    await tick();
    TestSocket.last.hello();
    const done = { type: "session_command_result", command: "fork", session_id: "s2" };
    TestSocket.last.say(done);
    expect(onCommandResult).toHaveBeenCalledExactlyOnceWith(done);
    connection.answer({ request_id: "r1", decision: "allow" });
    const refusal = { type: "error", code: "refused", message: "No.", recoverable: false, command: "rewind" };
    TestSocket.last.say(refusal);
    expect(onError).toHaveBeenCalledExactlyOnceWith(refusal);
    TestSocket.last.lose();
    await vi.advanceTimersByTimeAsync(500);
    TestSocket.last.hello();
    expect(TestSocket.last.sent).toEqual([
      { type: "permission_response", request_id: "r1", decision: "allow" },
    ]);
  });
});

test("an answer that was refused is not repeated, the others are", async () => {
  const { connection } = connect();
  await tick();
  TestSocket.last.hello();
  connection.answer({ request_id: "r1", decision: "allow" });
  connection.answer({ request_id: "r2", decision: "deny" });
  const refusal = { type: "error", code: "input_refused", message: "No.", recoverable: true };
  TestSocket.last.say({ ...refusal, request_id: "r1" });
  TestSocket.last.lose();
  await vi.advanceTimersByTimeAsync(500);
  TestSocket.last.hello();
  expect(TestSocket.last.sent).toEqual([{ type: "permission_response", request_id: "r2", decision: "deny" }]);
});

test("an answer to a permission request is repeated after a reconnect until the tape confirms it", async () => {
  const { connection } = connect();
  await tick();
  TestSocket.last.hello();
  connection.answer({ request_id: "r1", decision: "allow" });
  TestSocket.last.lose();
  await vi.advanceTimersByTimeAsync(500);
  TestSocket.last.hello();
  expect(TestSocket.last.sent).toEqual([
    { type: "permission_response", request_id: "r1", decision: "allow" },
  ]);
  TestSocket.last.say(
    event(1, { type: "permission_resolved", request_id: "r1", decision: "allow", by: "u" }),
  );
  TestSocket.last.lose();
  await vi.advanceTimersByTimeAsync(1_000);
  TestSocket.last.hello();
  expect(TestSocket.last.sent).toEqual([]);
});

test("a gap forgets the session before the events of the other tape arrive", async () => {
  const order: string[] = [];
  connect({
    after: 99,
    onGap: () => order.push("gap"),
    onEvents: (events) => order.push(...events.map((entry) => `event ${entry.seq}`)),
  });
  await tick();
  TestSocket.last.hello(2, { resume: "gap", from_seq: 1 });
  TestSocket.last.say([event(1), event(2)]);
  TestSocket.last.lose();
  await vi.advanceTimersByTimeAsync(500);
  expect(order).toEqual(["gap", "event 1", "event 2"]);
  expect(TestSocket.last.after).toBe("2");
});

describe("close codes", () => {
  test("4401 fetches a fresh token once, then gives up until somebody signs in", async () => {
    const { onState, getToken } = connect();
    await tick();
    TestSocket.last.lose(4401);
    await tick();
    expect(getToken.mock.calls).toEqual([[false], [true]]);
    TestSocket.last.lose(4401);
    expect(lastState(onState)).toMatchObject({ phase: "closed", reason: "signed_out" });
  });

  test.each([
    [4403, "forbidden"],
    [4404, "not_found"],
    [4409, "replaced"],
  ])("%i is final and says %s", async (code, reason) => {
    const { onState } = connect();
    await tick();
    TestSocket.last.lose(code);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lastState(onState)).toMatchObject({ phase: "closed", reason });
    expect(TestSocket.all).toHaveLength(1);
  });

  test.each([
    [1012, "restarting"],
    [4408, "too_slow"],
    [4429, "too_many"],
  ])("%i reconnects and says %s", async (code, reason) => {
    const { onState } = connect();
    await tick();
    TestSocket.last.lose(code);
    expect(lastState(onState)).toMatchObject({ phase: "reconnecting", reason });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(TestSocket.all).toHaveLength(2);
  });

  test("a refused token after a long outage still gets its fresh token", () => {
    let state: ConnectionState = nextConnection(idleConnection, { type: "start" })[0];
    for (let n = 0; n < 8; n += 1)
      [state] = nextConnection(state, { type: "closed", code: 1006, jitter: 0.5 });
    const [, effect] = nextConnection(state, { type: "closed", code: 4401, jitter: 0.5 });
    expect(effect).toEqual({ type: "connect", hasFreshToken: true });
  });
});

test("the back-off doubles from half a second to ten seconds", () => {
  expect([0, 1, 2, 3, 4, 5, 20].map((attempt) => backOffMs(attempt, 1))).toEqual([
    500, 1000, 2000, 4000, 8000, 10_000, 10_000,
  ]);
  expect(backOffMs(3, 0)).toBe(2000);
});
