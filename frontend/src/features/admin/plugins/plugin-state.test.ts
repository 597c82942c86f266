import { expect, test } from "vitest";

import { toDoings, toInventoryLines, toPermissionLines } from "@/features/admin/plugins/plugin-state";
import type { Plugin } from "@/shared/api/plugins";

const nothing = {
  tools: [],
  hosts: [],
  paths: { readable: [], writable: [] },
  secrets: [],
  environment: [],
  events: [],
  slots: [],
  apps: false,
};

function plugin(more: Partial<Plugin>): Plugin {
  return {
    name: "weather",
    version: "1.0.0",
    description: "",
    format: "platform",
    status: "registered",
    last_error: null,
    source: "upload",
    origin: "weather.zip",
    digest: "d",
    active_version: null,
    has_update: false,
    permissions: nothing,
    new_permissions: nothing,
    inventory: {
      has_tools: true,
      mcp_servers: [],
      skills: ["greeting"],
      folders: ["handbook"],
      commands: [],
      agents: [],
      hooks: ["PreToolUse", "PreToolUse"],
      endpoints: true,
      profiles: [],
      ui: [],
      other: [],
    },
    tools: [],
    dependencies: {},
    problems: [],
    warnings: [],
    manifest: null,
    ...more,
  };
}

const problem = { file: "plugin.json", path: "", message: "is wrong", hint: "" };

const doings = (more: Partial<Plugin>) =>
  Object.entries(toDoings(plugin(more)))
    .filter(([, can]) => can)
    .map(([name]) => name.slice(3));

test("what was just added can be activated or removed", () => {
  expect(doings({})).toEqual(["Activate", "Reload", "Remove"]);
});

test("what is at work is deactivated before it is removed", () => {
  expect(doings({ status: "active", active_version: "1.0.0" })).toEqual(["Deactivate", "Reload"]);
  expect(doings({ status: "degraded", active_version: "1.0.0" })).toEqual(["Deactivate", "Reload"]);
});

test("an update that waits can be activated while the old version works", () => {
  expect(doings({ status: "active", active_version: "1.0.0", has_update: true })).toContain("Activate");
});

test("what is not valid cannot be activated", () => {
  expect(doings({ status: "errored", problems: [problem] })).not.toContain("Activate");
  expect(doings({ status: "errored", digest: null })).not.toContain("Activate");
  expect(doings({ status: "errored" })).toContain("Activate");
});

test("a plugin in the folder is removed by removing the folder", () => {
  expect(doings({ source: "folder" })).not.toContain("Remove");
  expect(doings({ source: "folder", status: "inactive" })).toEqual(["Remove"]);
});

test("only what is asked for has a line", () => {
  expect(toPermissionLines(nothing)).toEqual([]);
  const asked = { ...nothing, hosts: ["a.example"], paths: { readable: [], writable: ["/srv"] } };
  expect(toPermissionLines(asked)).toEqual([
    { kind: "hosts", items: ["a.example"] },
    { kind: "writable", items: ["/srv"] },
  ]);
  expect(toPermissionLines({ ...nothing, environment: ["TZ"], apps: true })).toEqual([
    { kind: "environment", items: ["TZ"] },
    { kind: "apps", items: [] },
  ]);
});

test("what it brings is named once", () => {
  expect(toInventoryLines(plugin({}))).toEqual([
    { kind: "tools", items: [] },
    { kind: "endpoints", items: [] },
    { kind: "skills", items: ["greeting"] },
    { kind: "folders", items: ["handbook"] },
    { kind: "hooks", items: ["PreToolUse"] },
  ]);
});

test("tools of a plugin at work have names, also those of its servers", () => {
  const roll = { name: "mcp__dice__roll", description: "Roll dice.", is_declared: true };
  expect(toInventoryLines(plugin({ tools: [roll] }))[0]).toEqual({
    kind: "tools",
    items: ["mcp__dice__roll"],
  });
});
