// Every key of the locale file is used and every key the sources use is there; the type checker knows the rest.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "vitest";

import en from "@/locales/en.json";

function keysOf(node: object, prefix = ""): string[] {
  return Object.entries(node).flatMap(([key, value]: [string, unknown]) =>
    typeof value === "object" && value !== null ? keysOf(value, `${prefix}${key}.`) : [`${prefix}${key}`],
  );
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return sources(file);
    return /(?<!\.test|\.gen)\.tsx?$/.test(file) ? [readFileSync(file, "utf8")] : [];
  });
}

test("no text of the locale file is left over", () => {
  const code = sources(path.resolve(import.meta.dirname, "..")).join("\n");
  const unused = keysOf(en).filter((key) => {
    const name = key.replace(/_(one|other)$/, "");
    const parent = name.slice(0, name.lastIndexOf("."));
    // A key is named in full, or built from a variable after its parent: t(`status.${name}`).
    return !code.includes(`"${name}"`) && !code.includes(`\`${parent}.\${`);
  });
  expect(unused).toEqual([]);
});

test("every failure and notice of the protocol has words here", () => {
  const protocol = readFileSync(path.resolve(import.meta.dirname, "../../../docs/protocol.md"), "utf8");
  const codesOf = (where: string) =>
    Array.from(protocol.matchAll(new RegExp(`^\\| \`(\\w+)\` \\| ${where}\\b`, "gm")), ([, code]) => code);
  // They name a time, a file or a plugin, which only the server's own words tell.
  const ownWords = [
    "session_duration_warning",
    "attachment_not_shown",
    "plugin_not_loaded",
    "profile_missing",
  ];
  const codes = [...codesOf("tape"), ...codesOf("notice")];
  expect(codes.length).toBeGreaterThan(15);
  const told = new Set([...keysOf(en), ...ownWords.map((code) => `notice.${code}`)]);
  expect(codes.filter((code) => !told.has(`error.${code}`) && !told.has(`notice.${code}`))).toEqual([]);
});

test("no sentence is empty or has space around it", () => {
  const texts = keysOf(en).map((key) =>
    key.split(".").reduce<unknown>((node, part) => (node as never)[part], en),
  );
  for (const text of texts) expect(text).toBe(String(text).trim());
  expect(texts).not.toContain("");
});
