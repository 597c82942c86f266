import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { build } from "vite";
import { expect, it } from "vitest";

import { pluginUi } from "./vite";

const source = `
import { useState } from "react";
import { usePluginContext } from "@claude-sdk-pattern/plugin-sdk";
export function Part() {
  const [count] = useState(process.env.NODE_ENV === "production" ? 7 : 8);
  return <p>{usePluginContext().user.name} {count}</p>;
}
`;

it("builds a module that imports what the page has and holds everything else", async () => {
  const root = mkdtempSync(path.join(tmpdir(), "plugin-ui-"));
  writeFileSync(path.join(root, "part.tsx"), source);
  await build({
    ...pluginUi({ entry: path.join(root, "part.tsx"), name: "part" }),
    root,
    configFile: false,
    logLevel: "error",
  });
  const built = readFileSync(path.join(root, "ui", "part.js"), "utf8");
  const imported = [...built.matchAll(/from\s*"([^"]+)"/g)].map(([, name]) => name);
  expect(new Set(imported)).toEqual(
    new Set(["react", "react/jsx-runtime", "@claude-sdk-pattern/plugin-sdk"]),
  );
  expect(built).not.toContain("process.env");
  expect(built.length).toBeLessThan(1000);
});
