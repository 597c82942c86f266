import { expect, test } from "vitest";

import { parseEditedInput, toEditable } from "@/features/chat/cards/edited-input";

test("a command is edited as text, and keeps what else the call has", () => {
  const input = { command: "ls", description: "List" };
  expect(toEditable("Bash", input)).toBe("ls");
  expect(parseEditedInput("Bash", input, "ls -la")).toEqual({ command: "ls -la", description: "List" });
  expect(parseEditedInput("Bash", input, "  ")).toBeNull();
});

test("any other input is edited as JSON, and what is no object is refused", () => {
  const input = { file_path: "a.txt", content: "x" };
  expect(JSON.parse(toEditable("Write", input))).toEqual(input);
  expect(parseEditedInput("Write", input, '{"file_path": "b.txt"}')).toEqual({ file_path: "b.txt" });
  for (const text of ["", "{", "[]", "null", '"text"'])
    expect(parseEditedInput("Write", input, text)).toBeNull();
});
