import { createEvent, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test, vi } from "vitest";

import { Composer } from "@/features/chat/composer/composer";
import { useAppStore } from "@/shared/store/app-store";
import { tape } from "@/shared/tape/tape-fixtures";

import "@/shared/i18n/i18n";

function show(options: { sessionId?: string; isRunning?: boolean } = {}) {
  const onSend = vi.fn();
  const onStop = vi.fn();
  const { sessionId = "s1", isRunning = false } = options;
  const view = render(
    <Composer sessionId={sessionId} isRunning={isRunning} onSend={onSend} onStop={onStop} />,
  );
  return { onSend, onStop, field: screen.getByRole<HTMLTextAreaElement>("textbox"), ...view };
}

beforeEach(() => {
  useAppStore.setState(useAppStore.getInitialState(), true);
  useAppStore.getState().showSession("s1");
});

describe("Enter", () => {
  test("sends and empties the input; with Shift it is a new line", async () => {
    const { onSend, field } = show();
    await userEvent.type(field, "one{Shift>}{Enter}{/Shift}two{Enter}");
    expect(onSend).toHaveBeenCalledExactlyOnceWith({ text: "one\ntwo", attachments: [] });
    expect(field.value).toBe("");
  });

  test("that ends the composition of a character sends nothing", () => {
    const { onSend, field } = show();
    fireEvent.change(field, { target: { value: "にほん" } });
    const enter = createEvent.keyDown(field, { key: "Enter", keyCode: 229 });
    fireEvent(field, enter);
    expect(onSend).not.toHaveBeenCalled();
    expect(field.value).toBe("にほん");
  });

  test("sends nothing when there is only space", async () => {
    const { onSend, field } = show();
    await userEvent.type(field, "  {Enter}");
    expect(onSend).not.toHaveBeenCalled();
  });
});

describe("while an answer runs", () => {
  test("Stop is there, and a message can still be queued", async () => {
    const { onSend, onStop, field } = show({ isRunning: true });
    expect(screen.queryByRole("button", { name: "Queue" })).toBeNull();
    await userEvent.type(field, "and then");
    await userEvent.click(screen.getByRole("button", { name: "Queue" }));
    await userEvent.click(screen.getByRole("button", { name: "Stop" }));
    expect(onSend).toHaveBeenCalledExactlyOnceWith({ text: "and then", attachments: [] });
    expect(onStop).toHaveBeenCalledOnce();
  });
});

describe("the draft", () => {
  test("outlives the page, per session, until it is sent", async () => {
    const first = show({ sessionId: "s1" });
    await userEvent.type(first.field, "half a thought");
    first.unmount();
    useAppStore.setState({ drafts: {} });
    const other = show({ sessionId: "s2" });
    expect(other.field.value).toBe("");
    other.unmount();
    const again = show({ sessionId: "s1" });
    expect(again.field.value).toBe("half a thought");
    await userEvent.type(again.field, "{Enter}");
    again.unmount();
    expect(show({ sessionId: "s1" }).field.value).toBe("");
  });
});

describe("the arrow keys", () => {
  test("recall earlier messages from an empty input and leave a written one alone", async () => {
    useAppStore.getState().applyEvents(
      "s1",
      tape([
        { type: "user_message", text: "first", client_id: "1" },
        { type: "user_message", text: "second", client_id: "2" },
      ]).map((event, index) => ({ ...event, turn_id: `t${index}` })),
    );
    const { field } = show();
    await userEvent.type(field, "{ArrowUp}");
    expect(field.value).toBe("second");
    await userEvent.type(field, "{ArrowUp}");
    expect(field.value).toBe("first");
    await userEvent.type(field, "{ArrowDown}{ArrowDown}");
    expect(field.value).toBe("");
    await userEvent.type(field, "mine{ArrowUp}");
    expect(field.value).toBe("mine");
  });
});
