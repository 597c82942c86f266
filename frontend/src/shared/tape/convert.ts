import type { AnyEvent, CommandResultFrame, Status } from "@/shared/api/frames.gen";
import type { Envelope, Frame, FrameError, HelloFrame, TapeEvent } from "@/shared/tape/frame";

type Json = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === "string";
const number: Check = (value) => typeof value === "number";
const flag: Check = (value) => typeof value === "boolean";
const object: Check = (value) => isJsonObject(value);
const textOrList: Check = (value) => typeof value === "string" || Array.isArray(value);

/** The fields without which an event cannot be shown. Everything else is optional to the reader. */
const requiredFields: Readonly<Record<AnyEvent["type"], Readonly<Record<string, Check>>>> = {
  user_message: { text, client_id: text },
  status: { status: text },
  stream_event: { block_id: text, kind: text, delta: text },
  text: { block_id: text, content: text },
  thinking: { block_id: text, content: text },
  tool_use: { tool_use_id: text, tool: text, input: object },
  tool_result: { tool_use_id: text, content: textOrList },
  tool_error: { tool: text, message: text },
  permission_request: { request_id: text, tool: text, input: object, expires_at: text },
  permission_resolved: { request_id: text, decision: text, by: text },
  agent_start: { agent_id: text, agent_type: text, description: text },
  agent_stop: { agent_id: text },
  notification: { message: text },
  compaction: {},
  context: { percent: number, tokens: number, max_tokens: number },
  result: { subtype: text, is_error: flag },
  error: { code: text, message: text, recoverable: flag },
  session_updated: {},
  notice: { code: text, message: text },
  rewound: { before_seq: number },
  sdk_message: { kind: text },
};

function isJsonObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEventType(type: unknown): type is AnyEvent["type"] {
  return typeof type === "string" && Object.hasOwn(requiredFields, type);
}

function toEnvelope(json: Json, seq: number): Envelope {
  const { session_id, turn_id, actor, ts } = json;
  return {
    seq,
    session_id: typeof session_id === "string" ? session_id : "",
    turn_id: typeof turn_id === "string" ? turn_id : null,
    actor: typeof actor === "string" ? actor : null,
    ts: typeof ts === "string" ? ts : new Date(0).toISOString(),
  };
}

function toEventFrame(json: Json, seq: number): Frame {
  const { type } = json;
  const isComplete =
    isEventType(type) && Object.entries(requiredFields[type]).every(([field, check]) => check(json[field]));
  if (!isComplete) return { kind: "event", event: { seq, type: "unknown", original: json } };
  return { kind: "event", event: { ...json, ...toEnvelope(json, seq) } as TapeEvent };
}

function toFrame(json: unknown): Frame {
  if (!isJsonObject(json)) return { kind: "ignored", original: json };
  if (Number.isSafeInteger(json["seq"])) return toEventFrame(json, json["seq"] as number);
  switch (json["type"]) {
    case "hello":
      if (!text(json["session_id"]) || !number(json["last_seq"])) break;
      return { kind: "hello", hello: json as HelloFrame };
    case "error":
      if (!text(json["code"]) || !text(json["message"])) break;
      return { kind: "error", error: json as FrameError };
    case "session_command_result":
      if (!text(json["command"]) || !text(json["session_id"])) break;
      return { kind: "command_result", result: json as unknown as CommandResultFrame };
    case "status":
      if (!text(json["status"])) break;
      return { kind: "status", status: json["status"] as Status["status"] };
    case "pong":
      return { kind: "pong" };
  }
  return { kind: "ignored", original: json };
}

function parse(line: string): readonly Frame[] {
  try {
    const json: unknown = JSON.parse(line);
    return Array.isArray(json) ? json.map(toFrame) : [toFrame(json)];
  } catch {
    return [{ kind: "ignored", original: line }];
  }
}

/**
 * Turns one WebSocket message into frames, in order. A server that has several events waiting for us may put them
 * into one message, as an array or one per line. Never throws: what cannot be read comes back as `ignored`.
 */
export function toFrames(message: string): readonly Frame[] {
  const lines = message.includes("\n") ? message.split("\n").filter((line) => line.trim() !== "") : [message];
  return lines.flatMap(parse);
}
