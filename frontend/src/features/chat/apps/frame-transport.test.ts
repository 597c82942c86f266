import { expect, it, vi } from "vitest";

import { toResult } from "@/features/chat/apps/connect-app";
import { FrameTransport } from "@/features/chat/apps/frame-transport";

async function open() {
  const contentWindow = { postMessage: vi.fn() };
  const frame = { contentWindow } as unknown as HTMLIFrameElement;
  const onGivenUp = vi.fn();
  const onMessage = vi.fn();
  const transport = new FrameTransport(frame, onGivenUp);
  transport.onmessage = onMessage;
  await transport.start();
  const receive = (data: unknown, source: unknown = contentWindow) =>
    dispatchEvent(Object.assign(new Event("message"), { data, source }));
  return { receive, onMessage, onGivenUp };
}

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

it("passes on what its own frame says, and nobody else", async () => {
  const { receive, onMessage } = await open();
  receive(ping, window);
  receive(ping, null);
  expect(onMessage).not.toHaveBeenCalled();
  receive(ping);
  expect(onMessage).toHaveBeenCalledWith(ping);
});

it("passes over what is no message", async () => {
  const { receive, onMessage, onGivenUp } = await open();
  const circle: Record<string, unknown> = { jsonrpc: "2.0", id: 1, method: "ping" };
  circle["params"] = circle;
  for (const odd of [null, 7, "ping", [], {}, { ...ping, jsonrpc: "1.0" }, { ...ping, id: {} }, circle, 1n])
    receive(odd);
  receive({ jsonrpc: "2.0", id: 1, method: 7 });
  expect(onMessage).not.toHaveBeenCalled();
  expect(onGivenUp).not.toHaveBeenCalled();
});

it("gives up an app that sends too often, and hears no more of it", async () => {
  const { receive, onMessage, onGivenUp } = await open();
  for (let sent = 0; sent < 10_000; sent += 1) receive(ping);
  expect(onGivenUp).toHaveBeenCalledTimes(1);
  expect(onMessage.mock.calls.length).toBeLessThan(1_000);
});

it("gives up an app that sends something too long", async () => {
  const { receive, onMessage, onGivenUp } = await open();
  receive({ ...ping, params: { text: "x".repeat(300_000) } });
  expect(onGivenUp).toHaveBeenCalledTimes(1);
  expect(onMessage).not.toHaveBeenCalled();
});

it("tells results in the words of MCP", () => {
  const rain = { type: "text", text: "rain" };
  expect(toResult("rain", true)).toEqual({ content: [rain], isError: true });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
  expect(toResult([rain, image, { type: "odd" }, { type: "image" }], false)).toEqual({
    content: [rain, { type: "image", data: "AAAA", mimeType: "image/png" }],
    isError: false,
  });
});

it("tells structured content, which comes as one text", () => {
  expect(toResult('{"sky":"grey"}', false)).toEqual({
    content: [{ type: "text", text: '{"sky":"grey"}' }],
    structuredContent: { sky: "grey" },
    isError: false,
  });
  for (const text of ["{sky", "[1]", "{}, she said"])
    expect(toResult(text, false)).not.toHaveProperty("structuredContent");
});
