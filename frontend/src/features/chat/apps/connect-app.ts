import "@/features/chat/apps/zod-without-eval";

import type { CallToolResult, ContentBlock, ReadResourceResult, Tool } from "@modelcontextprotocol/client";
import { AppBridge, type McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";

import { FrameTransport } from "@/features/chat/apps/frame-transport";
import { maxHeight } from "@/features/chat/apps/host-context";
import { TokenBucket } from "@/shared/lib/token-bucket";
import type { JsonObject, ToolResultContent } from "@/shared/tape/transcript";

const minHeight = 40;

// What waits for the server or for a person at the same time.
const maxPending = 4;

const maxTextLength = 4_000;

/** What the page around an app does for it. What it rejects with, the app gets as an error. */
export type AppHost = {
  /** Asks the person, and opens the address if they agree. */
  readonly openLink: (url: string) => Promise<void>;
  readonly insertText: (text: string) => void;
  readonly callTool: (tool: string, input: JsonObject) => Promise<unknown>;
  readonly readResource: (uri: string) => Promise<unknown>;
  readonly setHeight: (height: number) => void;
  /** The app asked to be taken away, or sends more than it may. */
  readonly onEnd: (reason: "closed" | "given up") => void;
};

export type AppConnection = {
  readonly setContext: (context: McpUiHostContext) => void;
  readonly setResult: (content: ToolResultContent, isError: boolean) => void;
  readonly close: () => void;
};

/** Speaks with the app in a frame, from before its page is there. */
export function connectApp(
  frame: HTMLIFrameElement,
  {
    tool,
    input,
    context,
    host,
  }: {
    readonly tool: Tool;
    readonly input: JsonObject;
    readonly context: McpUiHostContext;
    readonly host: AppHost;
  },
): AppConnection {
  const bridge = new AppBridge(
    null,
    { name: "claude-sdk-pattern", version: "1" },
    { openLinks: {}, serverTools: {}, serverResources: {}, message: { text: {} } },
    { hostContext: { ...context, toolInfo: { tool } } },
  );
  const texts = new TokenBucket(3, 0.5);
  let isReady = false;
  let result: CallToolResult | null = null;
  let pending = 0;

  const sendResult = () => {
    if (isReady && result !== null) void bridge.sendToolResult(result);
  };
  const bounded = async <T>(work: () => Promise<T>): Promise<T> => {
    if (pending >= maxPending) throw new Error("Too much at once: wait for the answers.");
    pending += 1;
    try {
      return await work();
    } finally {
      pending -= 1;
    }
  };

  bridge.addEventListener("initialized", () => {
    if (isReady) return;
    isReady = true;
    void bridge.sendToolInput({ arguments: { ...input } });
    sendResult();
  });
  bridge.addEventListener("sizechange", ({ height }) => {
    if (typeof height === "number" && Number.isFinite(height))
      host.setHeight(Math.min(maxHeight, Math.max(minHeight, Math.ceil(height))));
  });
  bridge.onopenlink = ({ url }) =>
    bounded(async () => {
      await host.openLink(url);
      return {};
    });
  bridge.onmessage = ({ content }) => {
    const text = toText(content);
    if (text === "" || text.length > maxTextLength || !texts.take())
      return Promise.reject(new Error("This is no text, too long, or comes too soon after the last one."));
    host.insertText(text);
    return Promise.resolve({});
  };
  bridge.oncalltool = ({ name, arguments: args = {} }) =>
    bounded(async () => (await host.callTool(name, args)) as CallToolResult);
  bridge.onreadresource = ({ uri }) =>
    bounded(async () => (await host.readResource(uri)) as ReadResourceResult);
  bridge.addEventListener("requestteardown", () => {
    // It may still want to save something; if it does not answer, it is gone all the same.
    void bridge
      .teardownResource({}, { timeout: 1_000 })
      .catch(() => undefined)
      .then(() => host.onEnd("closed"));
  });
  void bridge.connect(new FrameTransport(frame, () => host.onEnd("given up")));

  return {
    setContext: (next) => bridge.setHostContext({ ...next, toolInfo: { tool } }),
    setResult: (content, isError) => {
      result = toResult(content, isError);
      sendResult();
    },
    close: () => void bridge.close(),
  };
}

function toText(content: readonly ContentBlock[]): string {
  return content
    .map((block) => (block.type === "text" ? block.text : ""))
    .join("\n")
    .trim();
}

/** A result as the tape has it, in the words of MCP. */
export function toResult(content: ToolResultContent, isError: boolean): CallToolResult {
  const structuredContent = toStructured(content);
  return { content: toBlocks(content), ...(structuredContent && { structuredContent }), isError };
}

/** Claude Code hands structured content on as one text, in place of the blocks that came with it. */
function toStructured(content: ToolResultContent): JsonObject | null {
  if (typeof content !== "string" || !content.startsWith("{")) return null;
  try {
    return JSON.parse(content) as JsonObject;
  } catch {
    return null;
  }
}

function toBlocks(content: ToolResultContent): ContentBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.flatMap((block): ContentBlock[] => {
    const source = block["source"] as { type?: unknown; media_type?: unknown; data?: unknown } | undefined;
    if (block["type"] === "text" && typeof block["text"] === "string")
      return [{ type: "text", text: block["text"] }];
    if (
      block["type"] === "image" &&
      typeof source?.data === "string" &&
      typeof source.media_type === "string"
    )
      return [{ type: "image", data: source.data, mimeType: source.media_type }];
    return [];
  });
}
