import type { JsonObject, ToolItem } from "@/shared/tape/transcript";

// The field that says best what a call is about, for tools by name; others show their first text.
const targetFields: Readonly<Record<string, readonly string[]>> = {
  Bash: ["command"],
  Read: ["file_path"],
  Write: ["file_path"],
  Edit: ["file_path"],
  MultiEdit: ["file_path"],
  NotebookEdit: ["notebook_path"],
  Glob: ["pattern"],
  Grep: ["pattern"],
  LS: ["path"],
  WebFetch: ["url"],
  WebSearch: ["query"],
  Task: ["description"],
  Agent: ["description"],
  Skill: ["skill", "command"],
  AskUserQuestion: [],
  TodoWrite: [],
  ExitPlanMode: [],
};

function firstText(input: JsonObject, fields: readonly string[]): string | null {
  for (const field of fields) {
    const value = input[field];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}

/** A string field out of JSON that is still being written; what has arrived of it. */
function fromUnfinishedJson(json: string, field: string): string | null {
  const start = new RegExp(`"${field}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`).exec(json)?.[1];
  if (!start) return null;
  try {
    return JSON.parse(`"${start}"`) as string;
  } catch {
    return start;
  }
}

/** What the call is about, in one line: a command, a path, a pattern. */
export function toTarget(item: Pick<ToolItem, "tool" | "input" | "inputText">): string {
  const fields = targetFields[item.tool];
  let target: string | null = null;
  if (item.input) {
    target = firstText(item.input, fields ?? Object.keys(item.input));
  } else {
    for (const field of fields ?? []) target ??= fromUnfinishedJson(item.inputText, field);
  }
  return shorten(target?.trim().split("\n")[0] ?? "");
}

// The folder of a session is named by an id that says nothing to a person; what counts is the path inside it.
const workspaceFolder = /^\/(?:[^/]+\/)*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\/(?=.)/;

function shorten(target: string): string {
  return target.replace(workspaceFolder, "");
}

/** `mcp__github__create_issue` as "github: create issue". */
export function toToolName(tool: string): string {
  const mcp = /^mcp__(.+?)__(.+)$/.exec(tool);
  return mcp ? `${mcp[1] ?? ""}: ${(mcp[2] ?? "").replaceAll("_", " ")}` : tool;
}

/** `mcp__github__create_issue` as "create issue", for where it says elsewhere whose tool it is. */
export function toOwnName(tool: string): string {
  return tool.replace(/^mcp__.+?__/, "").replaceAll("_", " ");
}

/** The text of a result. Blocks that are not text are left to the caller. */
export function toResultText(content: string | readonly JsonObject[]): string {
  if (typeof content === "string") return content;
  return content.flatMap((block) => (typeof block["text"] === "string" ? [block["text"]] : [])).join("\n");
}
