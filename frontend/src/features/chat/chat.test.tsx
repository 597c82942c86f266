// The conversation as it is shown, from events folded by the real store. The socket is not opened: events are put
// into the store as the connection would, and what would be sent is caught at the controller's door.
import { act, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { Profiler, type ReactNode } from "react";
import { beforeEach, describe, expect, test, vi } from "vitest";

import { answerPermission, refusedAnswers, sendMessage } from "@/features/chat/chat-controller";
import { MessageList } from "@/features/chat/transcript/message-list";
import { TurnView } from "@/features/chat/transcript/turn-view";
import type { AnyEvent } from "@/shared/api/frames.gen";
import { useAppStore } from "@/shared/store/app-store";
import { tape } from "@/shared/tape/tape-fixtures";

import "@/shared/i18n/i18n";

vi.mock(import("@/features/chat/chat-controller"), async (original) => ({
  ...(await original()),
  sendMessage: vi.fn(),
  answerPermission: vi.fn(),
}));

let seq = 0;
function arrive(payloads: readonly AnyEvent[], turnId = "turn-1"): void {
  const events = tape(payloads, turnId, seq + 1);
  seq += payloads.length;
  act(() => useAppStore.getState().applyEvents("s1", events));
}

const message = (text: string): AnyEvent => ({ type: "user_message", text, client_id: text });
const bash = (id: string, command: string): AnyEvent => ({
  type: "tool_use",
  tool_use_id: id,
  tool: "Bash",
  input: { command },
});
const request = (
  tool: string,
  input: Record<string, unknown>,
  suggestions: readonly string[] = [],
): AnyEvent => ({
  type: "permission_request",
  request_id: "r1",
  tool,
  tool_use_id: "t1",
  input,
  reason: "It deletes files.",
  expires_at: new Date(Date.now() + 60_000).toISOString(),
  suggestions: suggestions.map((text) => ({ text })),
});
const result = (more: Partial<Extract<AnyEvent, { type: "result" }>> = {}): AnyEvent => ({
  type: "result",
  subtype: "success",
  is_error: false,
  cost_usd: 0.0123,
  duration_ms: 4200,
  ...more,
});

beforeEach(() => {
  seq = 0;
  useAppStore.setState(useAppStore.getInitialState(), true);
  useAppStore.getState().showSession("s1");
  vi.mocked(answerPermission).mockClear();
  vi.mocked(sendMessage).mockClear();
});

describe("while tokens arrive", () => {
  test("only the turn that is being written renders, once for each batch", async () => {
    const renders: Record<string, number> = {};
    const counted = (id: string, child: ReactNode) => (
      <Profiler key={id} id={id} onRender={(name) => (renders[name] = (renders[name] ?? 0) + 1)}>
        {child}
      </Profiler>
    );
    arrive([message("one"), { type: "text", block_id: "a", content: "First." }, result()], "turn-1");
    arrive([message("two"), { type: "text", block_id: "b", content: "Second." }], "turn-2");
    render(
      <>
        {counted("old", <TurnView turnId="turn-1" isLazy={false} />)}
        {counted("new", <TurnView turnId="turn-2" isLazy={false} />)}
      </>,
    );
    arrive([{ type: "stream_event", block_id: "c", kind: "text", delta: "T" }], "turn-2");
    // Until the renderer has been loaded its stand-in is shown, which renders more often.
    await expect.poll(() => document.querySelectorAll(".md").length).toBe(3);
    const before = { ...renders };
    for (let n = 0; n < 50; n += 1) {
      arrive([{ type: "stream_event", block_id: "c", kind: "text", delta: "oken " }], "turn-2");
    }
    expect(renders["old"]).toBe(before["old"]);
    expect((renders["new"] ?? 0) - (before["new"] ?? 0)).toBe(50);
  });

  test("other blocks of the same turn keep their elements and the log does not announce them", async () => {
    render(<MessageList />);
    arrive([message("hi"), { type: "text", block_id: "a", content: "Settled words." }]);
    const settled = await screen.findByText("Settled words.");
    arrive([{ type: "stream_event", block_id: "b", kind: "text", delta: "Growing" }]);
    arrive([{ type: "stream_event", block_id: "b", kind: "text", delta: " words" }]);
    expect(await screen.findByText("Growing words")).toBeDefined();
    expect(screen.getByText("Settled words.")).toBe(settled);
    expect(screen.getByRole("log").getAttribute("aria-live")).toBe("off");
  });

  test("a block is announced once it is complete, and nothing that is replayed", () => {
    render(<MessageList />);
    const polite = () => document.querySelector("[aria-live=polite]")?.textContent;
    arrive([message("hi"), { type: "text", block_id: "a", content: "Old words." }]);
    expect(polite()).toBe("");
    act(() => useAppStore.getState().setLoaded("s1"));
    arrive([{ type: "stream_event", block_id: "b", kind: "text", delta: "New" }]);
    expect(polite()).toBe("");
    arrive([{ type: "text", block_id: "b", content: "New words." }]);
    expect(polite()).toBe("New words.");
  });
});

describe("a tool card", () => {
  test("says in words what it does and how it went, and opens to command and output", async () => {
    const user = userEvent.setup();
    render(<MessageList />);
    arrive([message("go"), bash("t1", "ls -la")]);
    const card = screen.getByTestId("tool-card");
    expect(within(card).getByText("Running")).toBeDefined();
    arrive([{ type: "tool_result", tool_use_id: "t1", content: "a.txt", is_error: true, duration_ms: 1500 }]);
    expect(within(card).getByText("Failed")).toBeDefined();
    await user.click(within(card).getByRole("button", { expanded: false }));
    expect((await within(card).findByRole("group", { name: "Command" })).textContent).toContain("ls -la");
    expect(within(card).getByRole("group", { name: "Output" }).textContent).toContain("a.txt");
  });

  test("shows characters that reorder a command", () => {
    render(<MessageList />);
    arrive([message("go"), bash("t1", "rm \u202eexe.txt")]);
    expect(screen.getByTestId("tool-card").textContent).toContain("U+202E");
  });

  test("of a subagent holds what the subagent does", () => {
    render(<MessageList />);
    arrive([
      message("go"),
      { type: "tool_use", tool_use_id: "t1", tool: "Agent", input: { description: "Look around" } },
      { type: "agent_start", agent_id: "t1", agent_type: "explorer", description: "Look around" },
      {
        type: "tool_use",
        tool_use_id: "t2",
        tool: "Glob",
        input: { pattern: "*.py" },
        parent_tool_use_id: "t1",
      },
    ]);
    const thread = screen.getByRole("region", { name: "Subagent explorer" });
    expect(within(thread).getByText("*.py")).toBeDefined();
    expect(screen.getAllByText("*.py")).toHaveLength(1);
  });
});

describe("a permission request", () => {
  test("shows the exact input and the reason, and takes no focus", () => {
    render(<MessageList />);
    arrive([
      message("go"),
      bash("t1", "rm -rf build"),
      request("Bash", { command: "rm -rf build", timeout: 3 }),
    ]);
    const card = screen.getByRole("region", { name: "Claude wants to use Bash" });
    expect(card.textContent).toContain("rm -rf build");
    expect(card.textContent).toContain("It deletes files.");
    expect(card.textContent).toMatch(/Denied automatically in \d+s/);
    expect(document.activeElement).toBe(document.body);
  });

  test("is answered once, with the comment when there is one", async () => {
    const user = userEvent.setup();
    render(<MessageList />);
    arrive([message("go"), bash("t1", "rm x"), request("Bash", { command: "rm x" })]);
    await user.click(screen.getByRole("button", { name: "Deny and say why…" }));
    await user.type(screen.getByRole("textbox"), "Use trash instead");
    await user.click(screen.getByRole("button", { name: "Deny with this comment" }));
    expect(answerPermission).toHaveBeenCalledExactlyOnceWith({
      request_id: "r1",
      decision: "deny",
      message: "Use trash instead",
    });
    expect(screen.queryByRole("button", { name: "Allow" })).toBeNull();
  });

  test("goes away when it was resolved elsewhere", () => {
    render(<MessageList />);
    arrive([message("go"), bash("t1", "rm x"), request("Bash", { command: "rm x" })]);
    arrive([{ type: "permission_resolved", request_id: "r1", decision: "deny", by: "system" }]);
    expect(screen.queryByRole("button", { name: "Allow" })).toBeNull();
    expect(screen.getByText("Denied")).toBeDefined();
  });

  test("says who decided, and for how long it holds", () => {
    render(<MessageList />);
    arrive([message("go"), bash("t1", "rm x"), request("Bash", { command: "rm x" })]);
    const resolved = { type: "permission_resolved", request_id: "r1", decision: "allow", by: "u2" } as const;
    arrive([{ ...resolved, by_name: "bob", remembered: "session" }]);
    expect(screen.getByTestId("decision").textContent).toBe("Allowed by bob, for this conversation");
  });

  test("can be allowed for calls like it, as the suggestion chosen", async () => {
    const user = userEvent.setup();
    render(<MessageList />);
    const suggestions = ["This call.", "Commands like `rm *`."];
    arrive([message("go"), bash("t1", "rm x"), request("Bash", { command: "rm x" }, suggestions)]);
    await user.click(screen.getByRole("button", { name: "Allow and remember…" }));
    await user.click(screen.getByRole("radio", { name: "Commands like `rm *`." }));
    await user.click(screen.getByRole("button", { name: "Always allow" }));
    const remembered = { decision: "allow", remember: "always", suggestion: 1 };
    expect(answerPermission).toHaveBeenCalledExactlyOnceWith({ request_id: "r1", ...remembered });
  });

  test("can be edited first: a command as the text it is", async () => {
    const user = userEvent.setup();
    render(<MessageList />);
    arrive([message("go"), bash("t1", "rm x"), request("Bash", { command: "rm x", timeout: 3 })]);
    await user.click(screen.getByRole("button", { name: "Edit first…" }));
    const field = screen.getByRole("textbox", { name: /The command/ });
    await user.clear(field);
    await user.click(screen.getByRole("button", { name: "Allow this instead" }));
    expect(screen.getByRole("alert").textContent).toContain("no valid input");
    await user.type(field, "ls");
    await user.click(screen.getByRole("button", { name: "Allow this instead" }));
    const updated_input = { command: "ls", timeout: 3 };
    expect(answerPermission).toHaveBeenCalledExactlyOnceWith({
      request_id: "r1",
      decision: "allow",
      updated_input,
    });
  });
});

test("a call that the policy denied says so, and names the rule", () => {
  render(<MessageList />);
  const denial = {
    code: "tool_denied",
    message: "Bash was denied: no.",
    rule: "shell.privilege",
    tool_use_id: "t1",
  };
  arrive([message("go"), bash("t1", "sudo x"), { type: "notice", ...denial }]);
  expect(screen.getByText("Denied")).toBeDefined();
  expect(screen.getByText("shell.privilege")).toBeDefined();
});

test("a request whose answer was refused can be answered again at once", async () => {
  const user = userEvent.setup();
  render(<MessageList />);
  arrive([message("go"), bash("t1", "rm -r x"), request("Bash", { command: "rm -r x" })]);
  await user.click(screen.getByRole("button", { name: "Allow" }));
  expect(screen.queryByRole("button", { name: "Allow" })).toBeNull();
  act(() => void refusedAnswers.dispatchEvent(new Event("another")));
  expect(screen.queryByRole("button", { name: "Allow" })).toBeNull();
  act(() => void refusedAnswers.dispatchEvent(new Event("r1")));
  expect(screen.getByRole("button", { name: "Allow" })).toBeDefined();
});

describe("a plan", () => {
  const plan = { plan: "# Steps\n\n1. Look" };

  test("is shown as Markdown and approved with the mode to go on in", async () => {
    const user = userEvent.setup();
    render(<MessageList />);
    arrive([message("go"), request("ExitPlanMode", plan)]);
    expect(screen.getByRole("heading", { name: "Steps" })).toBeDefined();
    await user.click(screen.getByRole("button", { name: "Approve, ask before each change" }));
    const approval = { decision: "allow", permission_mode: "default" };
    expect(answerPermission).toHaveBeenCalledExactlyOnceWith({ request_id: "r1", ...approval });
  });

  test("is sent back with what should be different", async () => {
    const user = userEvent.setup();
    render(<MessageList />);
    arrive([message("go"), request("ExitPlanMode", plan)]);
    await user.click(screen.getByRole("button", { name: "Keep planning…" }));
    await user.type(screen.getByRole("textbox"), "Test first");
    await user.click(screen.getByRole("button", { name: "Send back" }));
    const refusal = { decision: "deny", message: "Test first" };
    expect(answerPermission).toHaveBeenCalledExactlyOnceWith({ request_id: "r1", ...refusal });
  });
});

test("questions are a form, and answers go back in the input of the call", async () => {
  const user = userEvent.setup();
  render(<MessageList />);
  const questions = [
    { question: "Which language?", header: "Language", options: [{ label: "Python" }, { label: "Go" }] },
    { question: "Which extras?", multiSelect: true, options: [{ label: "CI" }, { label: "Linter" }] },
  ];
  arrive([message("go"), request("AskUserQuestion", { questions })]);
  const submit = screen.getByRole<HTMLButtonElement>("button", { name: "Answer" });
  expect(submit.disabled).toBe(true);
  await user.click(screen.getByRole("radio", { name: "Go" }));
  await user.click(screen.getByRole("checkbox", { name: "CI" }));
  await user.click(screen.getByRole("checkbox", { name: "Linter" }));
  const extras = screen.getByRole("group", { name: /Which extras/ });
  await user.type(within(extras).getByRole("textbox", { name: "Your own answer" }), "Docs");
  await user.click(submit);
  expect(answerPermission).toHaveBeenCalledExactlyOnceWith({
    request_id: "r1",
    decision: "allow",
    updated_input: { questions, answers: { "Which language?": "Go", "Which extras?": "CI, Linter, Docs" } },
  });
});

describe("the end of a turn", () => {
  test("says what it took and what it cost", () => {
    render(<MessageList />);
    arrive([message("hi"), { type: "text", block_id: "a", content: "Hello." }, result()]);
    expect(screen.getByTitle("Cost of this answer").textContent).toBe("$0.01");
    expect(screen.getByTitle("Time taken").textContent).toBe("4.2s");
  });

  test("that was stopped says so", () => {
    render(<MessageList />);
    arrive([message("hi"), { type: "stream_event", block_id: "a", kind: "text", delta: "He" }]);
    arrive([result({ subtype: "interrupted" })]);
    expect(screen.getByText("Stopped")).toBeDefined();
    expect(screen.getByText("Cut off here")).toBeDefined();
  });

  test("that failed explains itself once and offers to send the message again", async () => {
    const user = userEvent.setup();
    render(<MessageList />);
    arrive([
      message("do it"),
      { type: "error", code: "api_unavailable", message: "529", recoverable: true },
      result({ subtype: "error", is_error: true, error: "529" }),
    ]);
    expect(screen.getByText(/The model cannot be reached right now/)).toBeDefined();
    expect(screen.queryByText("Claude could not finish this answer.")).toBeNull();
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(sendMessage).toHaveBeenCalledExactlyOnceWith({ text: "do it", attachments: [] });
  });
});

test("a message that waits for the running turn says that it is queued", () => {
  render(<MessageList />);
  arrive([message("first"), { type: "status", status: "thinking" }], "turn-1");
  arrive([message("second")], "turn-2");
  expect(screen.getByText("Queued: answered after the current turn")).toBeDefined();
  arrive([result()], "turn-1");
  expect(screen.queryByText("Queued: answered after the current turn")).toBeNull();
});

test("a conversation with everything in it has no accessibility violation that can be found by a machine", async () => {
  const { container } = render(<MessageList />);
  arrive([
    message("go"),
    { type: "thinking", block_id: "h", content: "Hm." },
    { type: "text", block_id: "a", content: "# Title\n\n| a |\n|---|\n| 1 |\n\n```js\n1\n```\n\n- [x] done" },
    bash("t1", "rm x"),
    request("Bash", { command: "rm x" }),
  ]);
  await screen.findByText("Title");
  const { violations } = await axe.run(container, { rules: { "color-contrast": { enabled: false } } });
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
});
