// Measures what a browser loads before a chat is shown and fails when it is more than the budget.
// Counted: all JavaScript reachable by static imports from the entry, from the workspace and from the Markdown
// renderer. Not counted: what is loaded when it is needed (highlighter, languages, tool details).
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const budgetBytes = 200 * 1024;
const output = new URL("../../src/claude_sdk_pattern/web/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", output), "utf8"));

const roots = ["index.html", "src/app/workspace.tsx", "src/features/chat/markdown/markdown.tsx"];
const needed = new Set();

function need(name) {
  const chunk = manifest[name];
  if (!chunk)
    throw new Error(`${name} is not a chunk of its own any more: correct the list in scripts/size.mjs`);
  if (needed.has(chunk.file)) return;
  needed.add(chunk.file);
  for (const imported of chunk.imports ?? []) need(imported);
}
roots.forEach(need);

let total = gzipSync(readFileSync(new URL("theme.js", output))).length;
const kilobytes = (bytes) => `${(bytes / 1024).toFixed(1).padStart(7)} KiB`;
for (const file of needed) {
  const size = gzipSync(readFileSync(new URL(file, output)), { level: 9 }).length;
  total += size;
  console.log(`${kilobytes(size)}  ${file}`);
}
console.log(`${kilobytes(total)}  in total, of ${kilobytes(budgetBytes).trim()}`);
if (total > budgetBytes) {
  console.error("The first load is over its budget.");
  process.exitCode = 1;
}
