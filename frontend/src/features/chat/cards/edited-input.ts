import type { JsonObject } from "@/shared/tape/transcript";

const isCommand = (tool: string, input: JsonObject) =>
  tool === "Bash" && typeof input["command"] === "string";

/** What a person edits: the command itself, or the whole input as JSON. */
export function toEditable(tool: string, input: JsonObject): string {
  return isCommand(tool, input) ? (input["command"] as string) : JSON.stringify(input, null, 2);
}

/** The input that a person's text stands for; null if it is none. */
export function parseEditedInput(tool: string, input: JsonObject, text: string): JsonObject | null {
  if (isCommand(tool, input)) return text.trim() === "" ? null : { ...input, command: text };
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : null;
  } catch {
    return null;
  }
}
