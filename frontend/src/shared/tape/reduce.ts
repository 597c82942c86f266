import { Draft } from "@/shared/tape/draft";
import type { EventOf, TapeEvent, UnknownEvent } from "@/shared/tape/frame";
import { applyRewound } from "@/shared/tape/rewind";
import type { BlockItem, Item, NoticeItem, ToolItem, ToolState, Transcript } from "@/shared/tape/transcript";

const toolKey = (toolUseId: string) => `tool:${toolUseId}`;
const blockKey = (blockId: string) => `block:${blockId}`;

/** What a tool card says. A denial outlasts the error result that the CLI makes of it. */
function toolState(tool: ToolItem, isTurnOver: boolean): ToolState {
  const { permission, result } = tool;
  if (permission?.resolution?.decision === "deny" || tool.deniedBy !== null) return "denied";
  if (result) return result.isError ? "failed" : "done";
  if (isTurnOver) return "stopped";
  if (permission && !permission.resolution) return "waiting";
  return tool.input === null ? "writing" : "running";
}

function putTool(draft: Draft, tool: ToolItem): void {
  const isTurnOver = draft.isTurnOver(tool.turnId);
  draft.putItem({ ...tool, state: toolState(tool, isTurnOver) });
}

function findTool(draft: Draft, key: string): ToolItem | undefined {
  const item = draft.item(key);
  return item?.kind === "tool" ? item : undefined;
}

/** The card of a call, made now if its `tool_use` was not seen: permission and result may come first. */
function toolFor(draft: Draft, event: TapeEvent, toolUseId: string, tool: string): ToolItem {
  return (
    findTool(draft, toolKey(toolUseId)) ?? {
      key: toolKey(toolUseId),
      kind: "tool",
      turnId: draft.turnOf(event),
      parentId: null,
      toolUseId,
      tool,
      plugin: null,
      hasApp: false,
      input: null,
      inputText: "",
      state: "writing",
      permission: null,
      deniedBy: null,
      result: null,
      durationMs: null,
      startedAt: event.ts,
      agent: null,
      seq: event.seq,
    }
  );
}

function applyUserMessage(draft: Draft, event: EventOf<"user_message">): void {
  const { text, client_id, attachments = [], actor, ts, seq } = event;
  const turnId = draft.turnOf(event);
  draft.putTurn(turnId, { message: { seq, text, clientId: client_id, attachments, actor, ts } });
  draft.openTurn(turnId);
}

function applyDelta(draft: Draft, event: EventOf<"stream_event">): void {
  draft.openTurn(draft.turnOf(event));
  if (event.kind === "tool_input") {
    const tool = toolFor(draft, event, event.block_id, "");
    if (tool.input === null) putTool(draft, { ...tool, inputText: tool.inputText + event.delta });
    return;
  }
  const key = blockKey(event.block_id);
  const block = draft.item(key);
  if (block === undefined) {
    const turnId = draft.turnOf(event);
    const isLate = draft.isTurnOver(turnId);
    draft.putItem({
      key,
      kind: event.kind,
      turnId,
      parentId: null,
      content: event.delta,
      state: isLate ? "cut_off" : "streaming",
      startedAt: event.ts,
      endedAt: null,
      seq: event.seq,
    });
  } else if (isBlock(block) && block.state === "streaming") {
    draft.putItem({ ...block, content: block.content + event.delta, seq: event.seq });
  }
}

function isBlock(item: Item): item is BlockItem {
  return item.kind === "text" || item.kind === "thinking";
}

function applyBlock(draft: Draft, event: EventOf<"text" | "thinking">): void {
  const key = blockKey(event.block_id);
  if (event.content === "") {
    draft.removeItem(key);
    return;
  }
  const turnId = draft.turnOf(event);
  draft.openTurn(turnId);
  const earlier = draft.item(key);
  draft.putItem({
    key,
    kind: event.type,
    turnId: earlier?.turnId ?? turnId,
    parentId: event.parent_tool_use_id ?? null,
    content: event.content,
    state: event.partial ? "cut_off" : "complete",
    startedAt: earlier && isBlock(earlier) ? earlier.startedAt : event.ts,
    endedAt: event.ts,
    seq: event.seq,
  });
}

function applyToolUse(draft: Draft, event: EventOf<"tool_use">): void {
  draft.openTurn(draft.turnOf(event));
  putTool(draft, {
    ...toolFor(draft, event, event.tool_use_id, event.tool),
    tool: event.tool,
    plugin: event.plugin ?? null,
    hasApp: event.ui_resource != null,
    input: event.input,
    inputText: "",
    parentId: event.parent_tool_use_id ?? null,
    startedAt: event.ts,
    seq: event.seq,
  });
}

function applyToolResult(draft: Draft, event: EventOf<"tool_result">): void {
  putTool(draft, {
    ...toolFor(draft, event, event.tool_use_id, ""),
    result: {
      content: event.content,
      isError: event.is_error ?? false,
      isTruncated: event.truncated ?? false,
      seq: event.seq,
    },
    durationMs: event.duration_ms ?? null,
  });
}

function applyPermissionRequest(draft: Draft, event: EventOf<"permission_request">): void {
  // A request without a call of its own still needs a place in the conversation.
  const tool = toolFor(draft, event, event.tool_use_id ?? `request:${event.request_id}`, event.tool);
  draft.openTurn(tool.turnId);
  putTool(draft, {
    ...tool,
    tool: tool.tool || event.tool,
    input: tool.input ?? event.input,
    permission: {
      requestId: event.request_id,
      input: event.input,
      reason: event.reason ?? null,
      rule: event.rule ?? null,
      inputHash: event.input_hash ?? null,
      suggestions: (event.suggestions ?? []).map((suggestion) => suggestion.text),
      expiresAt: event.expires_at,
      resolution: null,
    },
  });
  draft.addRequest(event.request_id, tool.key);
}

function applyPermissionResolved(draft: Draft, event: EventOf<"permission_resolved">): void {
  const key = draft.requestKey(event.request_id);
  const tool = key === undefined ? undefined : findTool(draft, key);
  if (!tool?.permission) return;
  const { decision, by, by_name = null, reason = null, remembered = null } = event;
  const resolution = { decision, by, byName: by_name, reason, remembered };
  putTool(draft, { ...tool, permission: { ...tool.permission, resolution } });
  draft.closeRequest(tool.key);
}

function applyAgent(draft: Draft, event: EventOf<"agent_start" | "agent_stop">): void {
  const tool = findTool(draft, toolKey(event.agent_id));
  if (!tool) return;
  const isRunning = event.type === "agent_start";
  const type = event.agent_type || (tool.agent?.type ?? "");
  const description = event.description || (tool.agent?.description ?? "");
  putTool(draft, { ...tool, agent: { type, description, isRunning } });
}

function applyResult(draft: Draft, event: EventOf<"result">): void {
  const turnId = draft.turnOf(event);
  draft.putTurn(turnId, {
    result: {
      seq: event.seq,
      subtype: event.subtype,
      isError: event.is_error,
      costUsd: event.cost_usd ?? 0,
      durationMs: event.duration_ms ?? 0,
      error: event.error ?? null,
      structuredOutput: event.structured_output ?? null,
    },
  });
  draft.closeTurn(turnId);
  draft.set("costUsd", draft.get("costUsd") + (event.cost_usd ?? 0));
  for (const item of draft.itemsOf(turnId)) {
    if (item.kind === "tool") {
      draft.closeRequest(item.key);
      putTool(draft, item.agent ? { ...item, agent: { ...item.agent, isRunning: false } } : item);
    } else if (isBlock(item) && item.state === "streaming") {
      draft.putItem({ ...item, state: "cut_off" });
    }
  }
}

function applyStatus(draft: Draft, event: EventOf<"status">): void {
  const { status, attempt = null, max_attempts = null, delay_ms = null, queue_position = null } = event;
  draft.set("status", {
    name: status,
    attempt,
    maxAttempts: max_attempts,
    delayMs: delay_ms,
    queuePosition: queue_position,
    since: event.ts,
    seq: event.seq,
  });
  if (status === "recovered") putNotice(draft, event, "recovered", "");
}

function putNotice(
  draft: Draft,
  event: TapeEvent,
  code: string,
  message: string,
  { rule = null, tool = null }: Partial<Pick<NoticeItem, "rule" | "tool">> = {},
): void {
  const { seq } = event;
  const turnId = draft.turnOf(event);
  draft.putItem({
    key: `seq:${seq}`,
    kind: "notice",
    turnId,
    parentId: null,
    code,
    message,
    rule,
    tool,
    seq,
  });
}

function applyNotice(draft: Draft, event: EventOf<"notice">): void {
  const { code, message, rule = null, tool_use_id = null } = event;
  const tool = tool_use_id === null ? undefined : findTool(draft, toolKey(tool_use_id));
  if (code === "tool_denied" && tool) putTool(draft, { ...tool, deniedBy: rule ?? code });
  putNotice(draft, event, code, message, { rule });
}

function putError(draft: Draft, event: EventOf<"error">): void {
  draft.putItem({
    key: `seq:${event.seq}`,
    kind: "error",
    turnId: draft.turnOf(event),
    parentId: null,
    code: event.code,
    message: event.message,
    isRecoverable: event.recoverable,
    retryAfterMs: event.retry_after_ms ?? null,
    ts: event.ts,
    seq: event.seq,
  });
}

function applySettings(draft: Draft, event: EventOf<"session_updated">): void {
  const earlier = draft.get("settings");
  draft.set("settings", {
    title: event.title ?? earlier.title,
    model: event.model ?? earlier.model,
    permissionMode: event.permission_mode ?? earlier.permissionMode,
    plugins: { ...earlier.plugins, ...event.plugins },
  });
}

function applyEvent(draft: Draft, event: TapeEvent): void {
  switch (event.type) {
    case "user_message":
      return applyUserMessage(draft, event);
    case "stream_event":
      return applyDelta(draft, event);
    case "text":
    case "thinking":
      return applyBlock(draft, event);
    case "tool_use":
      return applyToolUse(draft, event);
    case "tool_result":
      return applyToolResult(draft, event);
    case "permission_request":
      return applyPermissionRequest(draft, event);
    case "permission_resolved":
      return applyPermissionResolved(draft, event);
    case "agent_start":
    case "agent_stop":
      return applyAgent(draft, event);
    case "result":
      return applyResult(draft, event);
    case "status":
      return applyStatus(draft, event);
    case "context":
      return draft.set("context", {
        percent: event.percent,
        tokens: event.tokens,
        maxTokens: event.max_tokens,
        isWarning: event.warning ?? false,
      });
    case "error":
      return putError(draft, event);
    case "tool_error":
      // The turn goes on without it, so it is no failure of the turn.
      return putNotice(draft, event, event.type, event.message, {
        tool: { name: event.tool, plugin: event.plugin ?? null },
      });
    case "session_updated":
      return applySettings(draft, event);
    case "notice":
      return applyNotice(draft, event);
    case "notification":
      return putNotice(draft, event, "notification", event.message);
    case "compaction":
      return putNotice(draft, event, "compaction", "");
    case "rewound":
      return applyRewound(draft, event);
    case "sdk_message":
      return;
    default:
      event satisfies never;
  }
}

/**
 * Folds events onto a transcript; pure. Relies on the order of `seq` only: holes are legal, and an event that was
 * applied before is ignored, so any overlap of replays gives the same state. Returns the same object if nothing
 * was new.
 */
export function reduce(transcript: Transcript, events: readonly (TapeEvent | UnknownEvent)[]): Transcript {
  const draft = new Draft(transcript);
  for (const event of events) {
    if (event.seq <= draft.get("lastSeq")) continue;
    draft.set("lastSeq", event.seq);
    if (event.type !== "unknown") applyEvent(draft, event);
  }
  return draft.finish();
}
