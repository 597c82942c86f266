// Files in the composer, up to the message that carries them. The upload itself is in the hands of the test.
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, test, vi } from "vitest";

import { DropZone } from "@/features/chat/attachments/drop-zone";
import { Composer } from "@/features/chat/composer/composer";
import { ApiError } from "@/shared/api/api-error";
import type { AttachmentRef } from "@/shared/api/frames.gen";
import { uploadAttachment } from "@/shared/api/upload";
import { useAppStore } from "@/shared/store/app-store";

import "@/shared/i18n/i18n";

function pick<T>(list: readonly T[], index: number): T {
  const found = list.at(index);
  if (found === undefined) throw new Error("There are not so many.");
  return found;
}

vi.mock(import("@/shared/api/upload"), () => ({ uploadAttachment: vi.fn() }));

type Upload = {
  readonly file: File;
  readonly options: Parameters<typeof uploadAttachment>[2];
  readonly finish: (attachment: AttachmentRef) => void;
  readonly fail: (error: unknown) => void;
};
let uploads: Upload[] = [];

const refTo = (file: File): AttachmentRef => ({
  attachment_id: `id of ${file.name}`,
  name: file.name,
  media_type: file.type,
  size_bytes: file.size,
});
const textFile = (name: string) => new File(["hello"], name, { type: "text/plain" });

function show() {
  const onSend = vi.fn();
  const view = render(
    <DropZone sessionId="s1">
      <Composer sessionId="s1" isRunning={false} onSend={onSend} onStop={() => undefined} />
    </DropZone>,
  );
  return { onSend, ...view };
}

const attach = (...files: File[]) =>
  fireEvent.change(screen.getByLabelText("Attach files", { selector: "input" }), { target: { files } });
const at = (index: number) => pick(uploads, index);
const finish = async (index: number) => {
  await act(async () => {
    at(index).finish(refTo(at(index).file));
    await Promise.resolve();
  });
};
const sendButton = () => screen.getByRole<HTMLButtonElement>("button", { name: "Send" });

beforeEach(() => {
  uploads = [];
  localStorage.clear();
  useAppStore.setState(useAppStore.getInitialState(), true);
  useAppStore.getState().showSession("s1");
  vi.mocked(uploadAttachment).mockImplementation(
    (_, file, options) =>
      new Promise((resolve, reject) => uploads.push({ file, options, finish: resolve, fail: reject })),
  );
});

test("a chosen file shows its progress and goes with the message, which may have no text", async () => {
  const { onSend } = show();
  attach(textFile("notes.txt"));
  expect(screen.getByText("notes.txt")).toBeDefined();
  act(() => at(0).options.onProgress(0.424));
  expect(screen.getByText("Uploading, 42%")).toBeDefined();
  expect(screen.getByRole("progressbar", { name: "Uploading notes.txt" })).toBeDefined();
  await finish(0);
  expect(screen.getByText("5 bytes")).toBeDefined();
  await userEvent.click(sendButton());
  expect(onSend).toHaveBeenCalledExactlyOnceWith({ text: "", attachments: [refTo(textFile("notes.txt"))] });
  expect(screen.queryByText("notes.txt")).toBeNull();
});

test("sending waits for uploads that are under way", async () => {
  const { onSend } = show();
  attach(textFile("a.txt"), textFile("b.txt"));
  await userEvent.type(screen.getByRole("textbox"), "look{Enter}");
  expect(onSend).not.toHaveBeenCalled();
  expect(screen.getByRole("button", { name: "Sent as soon as the files are uploaded" })).toBeDefined();
  await finish(0);
  expect(onSend).not.toHaveBeenCalled();
  await finish(1);
  await waitFor(() => expect(onSend).toHaveBeenCalledOnce());
  const sent = onSend.mock.calls[0]?.[0] as { text: string; attachments: AttachmentRef[] };
  expect([sent.text, sent.attachments.map(({ name }) => name)]).toEqual(["look", ["a.txt", "b.txt"]]);
});

test("a file that failed calls the sending off, says why, and can be tried again or removed", async () => {
  const { onSend } = show();
  attach(textFile("big.txt"));
  await userEvent.type(screen.getByRole("textbox"), "look{Enter}");
  await act(async () => {
    at(0).fail(new ApiError({ status: 413, code: "body_too_large", message: "Larger than 9 bytes." }));
    await Promise.resolve();
  });
  expect(screen.getByRole("alert").textContent).toContain("too large");
  expect(onSend).not.toHaveBeenCalled();
  expect(sendButton().disabled).toBe(true);
  await userEvent.click(screen.getByRole("button", { name: "Upload big.txt again" }));
  expect(uploads).toHaveLength(2);
  await userEvent.click(screen.getByRole("button", { name: "Remove big.txt" }));
  expect(at(1).options.signal.aborted).toBe(true);
  expect(screen.queryByText("big.txt")).toBeNull();
  expect(sendButton().disabled).toBe(false);
});

test("no more than three are on their way at the same time", async () => {
  show();
  attach(...["a", "b", "c", "d", "e"].map(textFile));
  expect(uploads).toHaveLength(3);
  await finish(1);
  expect(uploads).toHaveLength(4);
  await finish(0);
  expect(uploads.map(({ file }) => file.name)).toEqual(["a", "b", "c", "d", "e"]);
});

test("what was uploaded and not sent outlives the page", async () => {
  const first = show();
  attach(textFile("kept.txt"), textFile("lost.txt"));
  await finish(0);
  first.unmount();
  useAppStore.setState({ drafts: {} });
  const { onSend } = show();
  expect(screen.queryByText("lost.txt")).toBeNull();
  await userEvent.click(sendButton());
  expect(onSend).toHaveBeenCalledExactlyOnceWith({ text: "", attachments: [refTo(textFile("kept.txt"))] });
});

describe("files come in", () => {
  const picture = new File(["x"], "image.png", { type: "image/png" });

  test("by dropping them anywhere on the conversation", () => {
    const { container } = show();
    const zone = pick([...container.children], 0);
    const dataTransfer = { types: ["Files"], files: [textFile("dropped.txt")] };
    fireEvent.dragEnter(zone, { dataTransfer });
    expect(screen.getByText("Drop files to attach them")).toBeDefined();
    fireEvent.drop(zone, { dataTransfer });
    expect(screen.queryByText("Drop files to attach them")).toBeNull();
    expect(screen.getByText("dropped.txt")).toBeDefined();
  });

  test("by pasting a picture, but not with text that brings a picture of itself", () => {
    show();
    const field = screen.getByRole("textbox");
    fireEvent.paste(field, { clipboardData: { files: [picture], getData: () => "some words" } });
    expect(uploads).toHaveLength(0);
    fireEvent.paste(field, { clipboardData: { files: [picture], getData: () => "" } });
    expect(uploads.map(({ file }) => file.name)).toEqual(["image.png"]);
  });
});
