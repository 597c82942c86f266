// What a session goes through, as the conversation shows it. Events are put into the real store as the connection
// would; what would be sent is caught at the controller's door.
import { act, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import axe from "axe-core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { giveCommand, runCommand, sendMessage } from "@/features/chat/chat-controller";
import { CommandError } from "@/features/chat/pending-commands";
import { MessageList } from "@/features/chat/transcript/message-list";
import type { AnyEvent, AttachmentRef } from "@/shared/api/frames.gen";
import { useAppStore } from "@/shared/store/app-store";
import { tape } from "@/shared/tape/tape-fixtures";

import "@/shared/i18n/i18n";

function pick<T>(list: readonly T[], index: number): T {
  const found = list.at(index);
  if (found === undefined) throw new Error("There are not so many.");
  return found;
}

vi.mock(import("@/features/chat/chat-controller"), async (original) => ({
  ...(await original()),
  sendMessage: vi.fn(),
  giveCommand: vi.fn(() => true),
  runCommand: vi.fn(),
}));

let seq = 0;
function arrive(payloads: readonly AnyEvent[], turnId: string | null = "turn-1"): void {
  const events = tape(payloads, turnId, seq + 1).map((event) => ({ ...event, ts: new Date().toISOString() }));
  seq += payloads.length;
  act(() => useAppStore.getState().applyEvents("s1", events));
}

const plan: AttachmentRef = {
  attachment_id: "a1",
  name: "plan.pdf",
  media_type: "application/pdf",
  size_bytes: 1_400_000,
};
const message = (text: string, attachments: AttachmentRef[] = []): AnyEvent => ({
  type: "user_message",
  text,
  client_id: text,
  attachments,
});
const text = (content: string): AnyEvent => ({ type: "text", block_id: content, content });
const status = (name: string, more: object = {}): AnyEvent =>
  ({ type: "status", status: name, ...more }) as never;
const error = (code: string, more: object = {}): AnyEvent => ({
  type: "error",
  code,
  message: "What exactly.",
  recoverable: true,
  ...more,
});
const notice = (code: string): AnyEvent => ({ type: "notice", code, message: "In the server's words." });
type ResultEvent = Extract<AnyEvent, { type: "result" }>;
const result = (subtype: ResultEvent["subtype"] = "success", more: Partial<ResultEvent> = {}): AnyEvent => ({
  type: "result",
  subtype,
  is_error: subtype !== "success" && subtype !== "interrupted",
  duration_ms: 1200,
  ...more,
});

beforeEach(() => {
  seq = 0;
  useAppStore.setState(useAppStore.getInitialState(), true);
  useAppStore.getState().showSession("s1");
  for (const spy of [sendMessage, giveCommand, runCommand]) vi.mocked(spy).mockClear();
  vi.mocked(giveCommand).mockReturnValue(true);
});
afterEach(() => vi.useRealTimers());

describe("the status", () => {
  const line = () => screen.getByTestId("status-line").textContent;

  test("tells the place in the queue", () => {
    render(<MessageList />);
    arrive([message("hi"), status("preparing", { queue_position: 3 })]);
    expect(line()).toContain("All agents are at work. You are number 3 in the queue.");
    arrive([status("preparing")]);
    expect(line()).toContain("Getting ready");
  });

  test("counts down to the next attempt and to the end of a turn", () => {
    vi.useFakeTimers();
    act(() => useAppStore.getState().setConnection({ phase: "open", attempt: 0, refusals: 0, reason: null }));
    render(<MessageList />);
    arrive([message("hi"), status("retrying", { attempt: 2, max_attempts: 3, delay_ms: 4000 })]);
    expect(line()).toBe("The model is busy. Attempt 2 of 3, in 4s");
    act(() => void vi.advanceTimersByTime(2_000));
    expect(line()).toBe("The model is busy. Attempt 2 of 3, in 2s");
    act(() => void vi.advanceTimersByTime(3_000));
    expect(line()).toBe("The model is busy. Attempt 2 of 3");
    arrive([status("server_shutting_down", { delay_ms: 15_000 })]);
    expect(line()).toBe(
      "The server is restarting. This turn is stopped in 15s, and you can go on afterwards.",
    );
  });

  test("of a sleeping session is a quiet line with a way to wake it", async () => {
    render(<MessageList />);
    arrive([message("hi"), result()]);
    expect(screen.queryByTestId("quiet-line")).toBeNull();
    arrive([status("hibernated")], null);
    expect(screen.getByTestId("quiet-line").textContent).toContain("Asleep. The next message wakes it.");
    await userEvent.click(screen.getByRole("button", { name: "Wake" }));
    expect(giveCommand).toHaveBeenCalledExactlyOnceWith({ command: "resume" });
    arrive([status("preparing", { queue_position: 2 })], null);
    expect(screen.getByTestId("quiet-line").textContent).toContain("You are number 2 in the queue.");
    arrive([status("idle")], null);
    expect(screen.queryByTestId("quiet-line")).toBeNull();
  });

  test("is what the server said at the connection until the tape says something newer", () => {
    render(<MessageList />);
    arrive([message("hi"), result(), status("idle")]);
    const facts = {
      title: null,
      model: null,
      permissionMode: null,
      plugins: [],
      profile: null,
      costUsd: 0,
      contextPercent: null,
    };
    act(() => useAppStore.getState().setFacts("s1", { ...facts, status: "hibernated", lastSeq: seq }));
    expect(screen.getByTestId("quiet-line").textContent).toContain("Asleep");
    act(() => useAppStore.getState().setStatus("s1", "server_shutting_down"));
    expect(screen.getByTestId("quiet-line").textContent).toContain("The server is restarting.");
    arrive([status("idle")], null);
    expect(screen.queryByTestId("quiet-line")).toBeNull();
  });
});

describe("a notice", () => {
  test("is a line of its own after the answer, in our words if we know it", () => {
    render(<MessageList />);
    arrive([message("hi"), text("Hello."), result()]);
    arrive([notice("memory_restart"), notice("something_new")], null);
    expect(screen.getByText(/used much memory and was restarted/)).toBeDefined();
    const line = screen.getByText("In the server's words.");
    const figures = screen.getByTitle("Time taken");
    expect(figures.compareDocumentPosition(line) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
  });

  test("that the session reached its age offers to resume, once, until something else happens", async () => {
    render(<MessageList />);
    arrive([message("hi"), result()]);
    arrive([notice("session_duration_reached"), status("hibernated")], null);
    expect(screen.queryByRole("button", { name: "Wake" })).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Resume" }));
    expect(giveCommand).toHaveBeenCalledExactlyOnceWith({ command: "resume" });
    arrive([message("on")], "turn-2");
    expect(screen.queryByRole("button", { name: "Resume" })).toBeNull();
  });
});

describe("a failure", () => {
  test("says what happened, the details small, and sends the message again with its files", async () => {
    render(<MessageList />);
    arrive([message("read it", [plan]), error("api_unavailable"), result("error")]);
    expect(screen.getByText(/The model cannot be reached right now/)).toBeDefined();
    expect(screen.getByText(/What exactly\./).textContent).toContain("(api_unavailable, event 2)");
    await userEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(sendMessage).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ text: "read it" }));
    expect(vi.mocked(sendMessage).mock.calls[0]?.[0].attachments).toEqual([plan]);
    arrive([message("read it")], "turn-2");
    expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
  });

  test("that names a time can be tried again only then", () => {
    vi.useFakeTimers();
    render(<MessageList />);
    arrive([message("hi"), error("rate_limited", { retry_after_ms: 3000 }), result("error")]);
    const button = () => screen.getByRole<HTMLButtonElement>("button", { name: /Try again/ });
    expect(button().textContent).toBe("Try again in 3s");
    expect(button().disabled).toBe(true);
    act(() => void vi.advanceTimersByTime(3_500));
    expect(button().textContent).toBe("Try again");
    expect(button().disabled).toBe(false);
  });

  test("in the middle of work goes on instead of beginning again", async () => {
    render(<MessageList />);
    arrive([message("build it"), text("First part.")]);
    arrive([error("subprocess_crash"), result("interrupted", { error: "gone" })]);
    arrive([status("recovered")], null);
    expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Continue" }));
    expect(sendMessage).toHaveBeenCalledExactlyOnceWith({ text: "Continue", attachments: [] });
  });

  test("that only the result tells has its sentence and action", () => {
    render(<MessageList />);
    arrive([message("go"), text("Step 20."), result("error_max_turns")]);
    expect(screen.getByText("Claude reached the limit of steps for one message.")).toBeDefined();
    expect(screen.getByRole("button", { name: "Continue" })).toBeDefined();
    arrive([message("go"), result("error_max_budget")], "turn-2");
    expect(screen.getByText("The budget for this conversation is used up.")).toBeDefined();
    expect(screen.getByRole("link", { name: "Start a new chat" })).toBeDefined();
    expect(screen.queryByRole("button", { name: "Continue" })).toBeNull();
  });
});

test("structured output is shown as it is, to be copied", async () => {
  render(<MessageList />);
  arrive([message("go"), result("success", { structured_output: { city: "Oslo", days: 3 } })]);
  const output = await screen.findByRole("group", { name: "Structured output" });
  expect(output.textContent).toContain('"city": "Oslo"');
  expect(within(output).getByRole("button", { name: "Copy" })).toBeDefined();
});

describe("a fork", () => {
  test("begins at an answer, and is not offered for what failed", async () => {
    vi.mocked(runCommand).mockRejectedValue(new CommandError("No turn was answered there yet."));
    render(<MessageList />);
    arrive([message("one"), text("First."), result()]);
    arrive([message("two"), result("error")], "turn-2");
    const buttons = screen.getAllByRole("button", { name: "Fork from here" });
    expect(buttons).toHaveLength(1);
    await userEvent.click(pick(buttons, 0));
    expect(runCommand).toHaveBeenCalledExactlyOnceWith({ command: "fork", at_seq: 3 });
    expect(useAppStore.getState().notice?.text).toBe("No turn was answered there yet.");
  });
});

describe("going back", () => {
  const edit = async () => {
    await userEvent.click(pick(screen.getAllByRole("button", { name: "Edit message" }), -1));
    return screen.findByRole("textbox");
  };

  test("edits a message, takes the old one back first, and sends the new one with its files", async () => {
    vi.mocked(runCommand).mockResolvedValue("s1");
    render(<MessageList />);
    arrive([message("one"), result()]);
    arrive([message("two", [plan]), result()], "turn-2");
    const field = await edit();
    await userEvent.clear(field);
    await userEvent.type(field, "better");
    await userEvent.click(screen.getByRole("checkbox", { name: "Also put files back as they were" }));
    await userEvent.click(screen.getByRole("button", { name: "Save & send" }));
    expect(runCommand).toHaveBeenCalledExactlyOnceWith({ command: "rewind", before_seq: 3, files: false });
    expect(sendMessage).toHaveBeenCalledExactlyOnceWith({ text: "better", attachments: [plan] });
  });

  test("that is refused says why and sends nothing", async () => {
    vi.mocked(runCommand).mockRejectedValue(new CommandError("It was taken back already."));
    render(<MessageList />);
    arrive([message("one"), result()]);
    const field = await edit();
    await userEvent.type(field, " more{Control>}{Enter}{/Control}");
    expect((await screen.findByRole("alert")).textContent).toBe("It was taken back already.");
    expect(sendMessage).not.toHaveBeenCalled();
    expect((field as HTMLTextAreaElement).value).toBe("one more");
  });

  test("of which nobody knows whether it was done leaves the text in the composer", async () => {
    vi.mocked(runCommand).mockRejectedValue(new CommandError(null));
    render(<MessageList />);
    arrive([message("one"), result()]);
    await userEvent.type(await edit(), " more{Control>}{Enter}{/Control}");
    await screen.findByRole("alert");
    expect(useAppStore.getState().drafts["s1"]?.text).toBe("one more");
  });

  test("is left with Escape, and the focus is where it was", async () => {
    render(<MessageList />);
    arrive([message("one"), result()]);
    await userEvent.type(await edit(), "{Escape}");
    expect(screen.queryByRole("textbox")).toBeNull();
    await vi.waitFor(() => expect(document.activeElement?.getAttribute("aria-label")).toBe("Edit message"));
  });

  test("folds what no longer stands in its place, to be read but not to be changed", async () => {
    render(<MessageList />);
    arrive([message("kept"), result()]);
    arrive([message("two"), result()], "turn-2");
    arrive([message("three"), result()], "turn-3");
    arrive([{ type: "rewound", before_seq: 3, files_restored: true }], null);
    arrive([message("instead"), result()], "turn-4");
    expect(screen.queryByText("two")).toBeNull();
    const fold = screen.getByText("2 messages taken back, files put back");
    const after = screen.getByText("instead");
    expect(fold.compareDocumentPosition(after) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    await userEvent.click(fold);
    expect(await screen.findByText("two")).toBeDefined();
    expect(screen.getAllByRole("button", { name: "Edit message" })).toHaveLength(2);
    expect(screen.getAllByRole("button", { name: "Fork from here" })).toHaveLength(2);
  });
});

test("a conversation that went through all of it has no accessibility violation that can be found by a machine", async () => {
  const { container } = render(<MessageList />);
  arrive([message("one", [plan]), text("First."), result("success", { structured_output: { a: 1 } })]);
  arrive([message("two"), result()], "turn-2");
  arrive([{ type: "rewound", before_seq: 4, files_restored: false }], null);
  arrive([message("three"), error("rate_limited", { retry_after_ms: 9000 }), result("error")], "turn-3");
  arrive([notice("session_duration_reached"), status("hibernated")], null);
  await screen.findByRole("group", { name: "Structured output" });
  await userEvent.click(pick(screen.getAllByRole("button", { name: "Edit message" }), 0));
  await screen.findByRole("textbox");
  const { violations } = await axe.run(container, { rules: { "color-contrast": { enabled: false } } });
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
});
