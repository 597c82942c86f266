import type { AttachmentRef, Result, Status } from "@/shared/api/frames.gen";

export type JsonObject = Readonly<Record<string, unknown>>;

export type BlockState = "streaming" | "complete" | "cut_off";

/** Text or thinking of the assistant. */
export type BlockItem = {
  readonly key: string;
  readonly kind: "text" | "thinking";
  readonly turnId: string;
  /** The call of the subagent that wrote it; null for the main agent. */
  readonly parentId: string | null;
  readonly content: string;
  readonly state: BlockState;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly seq: number;
};

export type ToolState = "writing" | "waiting" | "running" | "done" | "failed" | "denied" | "stopped";

export type Permission = {
  readonly requestId: string;
  readonly input: JsonObject;
  readonly reason: string | null;
  /** The policy's rule that asks; null when the permission mode does. */
  readonly rule: string | null;
  /** Names the tool and the input an answer is about. */
  readonly inputHash: string | null;
  /** What an answer can have remembered, in words. */
  readonly suggestions: readonly string[];
  readonly expiresAt: string;
  readonly resolution: Resolution | null;
};

export type Resolution = {
  readonly decision: "allow" | "deny";
  readonly by: string;
  readonly byName: string | null;
  readonly reason: string | null;
  readonly remembered: "session" | "always" | null;
};

export type ToolResultContent = string | readonly JsonObject[];

export type ToolItem = {
  readonly key: string;
  readonly kind: "tool";
  readonly turnId: string;
  readonly parentId: string | null;
  readonly toolUseId: string;
  readonly tool: string;
  readonly plugin: string | null;
  /** Whether its plugin has a page to show for it (MCP Apps). */
  readonly hasApp: boolean;
  /** Null while the model still writes it; `inputText` then holds the JSON that has arrived. */
  readonly input: JsonObject | null;
  readonly inputText: string;
  readonly state: ToolState;
  readonly permission: Permission | null;
  /** The policy's rule that denied the call without asking anybody. */
  readonly deniedBy: string | null;
  readonly result: {
    readonly content: ToolResultContent;
    readonly isError: boolean;
    readonly isTruncated: boolean;
    /** Number of the event, to fetch the whole of it by. */
    readonly seq: number;
  } | null;
  readonly durationMs: number | null;
  readonly startedAt: string;
  readonly agent: { readonly type: string; readonly description: string; readonly isRunning: boolean } | null;
  readonly seq: number;
};

export type ErrorItem = {
  readonly key: string;
  readonly kind: "error";
  readonly turnId: string;
  readonly parentId: null;
  readonly code: string;
  readonly message: string;
  readonly isRecoverable: boolean;
  readonly retryAfterMs: number | null;
  readonly ts: string;
  readonly seq: number;
};

/** A line between things: the platform did or will do something that is no failure. */
export type NoticeItem = {
  readonly key: string;
  readonly kind: "notice";
  readonly turnId: string;
  readonly parentId: null;
  readonly code: string;
  readonly message: string;
  /** The policy's rule behind it. */
  readonly rule: string | null;
  /** The tool it is about, and the plugin that brings it. */
  readonly tool: { readonly name: string; readonly plugin: string | null } | null;
  readonly seq: number;
};

export type Item = BlockItem | ToolItem | ErrorItem | NoticeItem;

export type PersonMessage = {
  readonly seq: number;
  readonly text: string;
  readonly clientId: string;
  readonly attachments: readonly AttachmentRef[];
  readonly actor: string | null;
  readonly ts: string;
};

export type TurnResult = {
  readonly seq: number;
  readonly subtype: Result["subtype"];
  readonly isError: boolean;
  readonly costUsd: number;
  readonly durationMs: number;
  readonly error: string | null;
  readonly structuredOutput: unknown;
};

export type Turn = {
  readonly id: string;
  readonly message: PersonMessage | null;
  /** Keys of everything the agent did in this turn, subagents included, in order of appearance. */
  readonly itemKeys: readonly string[];
  /** Keys of what was taken back of a turn whose message still stands: it was sent before another's message. */
  readonly takenBackKeys: readonly string[];
  readonly result: TurnResult | null;
  /** Set when the turn's message was taken back, and with it the whole turn. */
  readonly rewind: Rewind | null;
};

/** The conversation was taken back; `seq` is the number of the event that says so. */
export type Rewind = { readonly seq: number; readonly hasRestoredFiles: boolean };

export type StatusInfo = {
  readonly name: Status["status"];
  readonly attempt: number | null;
  readonly maxAttempts: number | null;
  readonly delayMs: number | null;
  /** Place in the queue for an agent process; null when the session need not wait for one. */
  readonly queuePosition: number | null;
  /** When it became so, and the number of the event that says so. */
  readonly since: string | null;
  readonly seq: number;
};

export type ContextInfo = {
  readonly percent: number;
  readonly tokens: number;
  readonly maxTokens: number;
  readonly isWarning: boolean;
};

/** Everything that can be shown of a session, as a fold of its tape. */
export type Transcript = {
  /** Highest `seq` applied; 0 before the first event. */
  readonly lastSeq: number;
  readonly turnIds: readonly string[];
  readonly turns: Readonly<Record<string, Turn>>;
  readonly items: Readonly<Record<string, Item>>;
  /** Item keys of a subagent by the `tool_use_id` that called it. */
  readonly childKeys: Readonly<Record<string, readonly string[]>>;
  /** Turns that were opened and have no result, oldest first. */
  readonly openTurnIds: readonly string[];
  /** Keys of tools that wait for a person, oldest first. */
  readonly waitingKeys: readonly string[];
  /** Key of the tool that a permission request belongs to. */
  readonly requestKeys: Readonly<Record<string, string>>;
  readonly status: StatusInfo;
  readonly context: ContextInfo | null;
  readonly settings: {
    readonly title: string | null;
    readonly model: string | null;
    readonly permissionMode: string | null;
    /** Plugins that were turned on (true) or off for this session. */
    readonly plugins: Readonly<Record<string, boolean>>;
  };
  readonly costUsd: number;
};

export const emptyTranscript: Transcript = {
  lastSeq: 0,
  turnIds: [],
  turns: {},
  items: {},
  childKeys: {},
  openTurnIds: [],
  waitingKeys: [],
  requestKeys: {},
  status: {
    name: "idle",
    attempt: null,
    maxAttempts: null,
    delayMs: null,
    queuePosition: null,
    since: null,
    seq: 0,
  },
  context: null,
  settings: { title: null, model: null, permissionMode: null, plugins: {} },
  costUsd: 0,
};

/** A message whose turn waits for an earlier one to end. */
export function isQueued(transcript: Transcript, turnId: string): boolean {
  const turn = transcript.turns[turnId];
  return (
    turn !== undefined &&
    turn.message !== null &&
    turn.result === null &&
    turn.itemKeys.length === 0 &&
    transcript.openTurnIds.includes(turnId) &&
    transcript.openTurnIds[0] !== turnId
  );
}

/** The latest turn that was not taken back. */
export function lastStandingTurn(transcript: Transcript): Turn | null {
  const id = transcript.turnIds.findLast((turnId) => transcript.turns[turnId]?.rewind === null);
  return id === undefined ? null : (transcript.turns[id] ?? null);
}

/** What the conversation ends with. */
export function lastStandingItem(transcript: Transcript): Item | null {
  const key = lastStandingTurn(transcript)?.itemKeys.at(-1);
  return key === undefined ? null : (transcript.items[key] ?? null);
}

export function isRunning(transcript: Transcript): boolean {
  return transcript.openTurnIds.length > 0;
}
