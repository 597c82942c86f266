import { expect, test } from "vitest";

import { toOwnName, toResultText, toTarget, toToolName } from "@/features/chat/tools/tool-summary";

const target = (tool: string, input: Record<string, unknown> | null, inputText = "") =>
  toTarget({ tool, input, inputText });

test("the target is the field that says most, in one line", () => {
  expect(target("Bash", { description: "List", command: "ls\npwd" })).toBe("ls");
  expect(target("Grep", { path: "/x", pattern: "def f" })).toBe("def f");
  expect(target("mcp__jira__find", { limit: 3, query: "open bugs" })).toBe("open bugs");
  expect(target("TodoWrite", { todos: [] })).toBe("");
});

test("a path in the session's folder is shown from there", () => {
  const folder = "/data/workspaces/01a1febf-5dfb-74ca-9d69-6037aa92135c";
  expect(target("Write", { file_path: `${folder}/src/notes.txt` })).toBe("src/notes.txt");
  expect(target("Read", { file_path: "/etc/hosts" })).toBe("/etc/hosts");
});

test("input that is still being written shows what has arrived", () => {
  expect(target("Bash", null, '{"command": "ls -l')).toBe("ls -l");
  expect(target("Bash", null, '{"command": "echo \\"hi\\" \\u00')).toBe('echo \\"hi\\" \\u00');
  expect(target("Bash", null, '{"comm')).toBe("");
});

test("names of tools of other servers are split", () => {
  expect(toToolName("mcp__github__create_issue")).toBe("github: create issue");
  expect(toToolName("Bash")).toBe("Bash");
  expect(toOwnName("mcp__notes-book__add_note")).toBe("add note");
  expect(toOwnName("mcp__a__b__c")).toBe("b  c");
  expect(toOwnName("Bash")).toBe("Bash");
});

test("a result of blocks is its text", () => {
  expect(toResultText([{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }])).toBe(
    "a\nb",
  );
});
