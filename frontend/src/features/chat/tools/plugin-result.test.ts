import { describe, expect, it } from "vitest";

import { draws } from "@/features/chat/tools/plugin-result";
import type { UiPart } from "@/shared/api/plugin-ui";
import type { ToolItem } from "@/shared/tape/transcript";

function part(changes: Partial<UiPart>): UiPart {
  return {
    plugin: "chart",
    version: "1.0.0",
    slot: "message-renderer",
    module: { url: "/x.js", integrity: "" },
    export: "Chart",
    style: null,
    title: null,
    tools: ["mcp__chart__draw"],
    ...changes,
  };
}

const item = { plugin: "chart", tool: "mcp__chart__draw" } as ToolItem;

describe("draws", () => {
  it.each([
    [["mcp__chart__draw"], true],
    [["mcp__chart__*"], true],
    [["mcp__chart__other", "*draw"], true],
    [["mcp__chart__dra"], false],
    [["mcp__chart__draw2"], false],
    // A dot is a dot here.
    [["mcp__chart__.raw"], false],
    [[], false],
  ])("goes by the names of the tools: %j is %j", (tools, expected) => {
    expect(draws(part({ tools }), item)).toBe(expected);
  });

  it("is for the plugin's own tools and for renderers only", () => {
    expect(draws(part({ plugin: "other" }), item)).toBe(false);
    expect(draws(part({ slot: "side-panel" }), item)).toBe(false);
    expect(draws(part({}), { ...item, plugin: null })).toBe(false);
  });
});
