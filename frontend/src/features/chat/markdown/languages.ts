import type { DynamicImportLanguageRegistration } from "@shikijs/core";

/** Each in a file of its own that is loaded when a block of it is shown. */
export const languageLoaders: Readonly<Record<string, DynamicImportLanguageRegistration>> = {
  bash: () => import("@shikijs/langs/bash"),
  c: () => import("@shikijs/langs/c"),
  cpp: () => import("@shikijs/langs/cpp"),
  csharp: () => import("@shikijs/langs/csharp"),
  css: () => import("@shikijs/langs/css"),
  diff: () => import("@shikijs/langs/diff"),
  docker: () => import("@shikijs/langs/docker"),
  go: () => import("@shikijs/langs/go"),
  graphql: () => import("@shikijs/langs/graphql"),
  html: () => import("@shikijs/langs/html"),
  ini: () => import("@shikijs/langs/ini"),
  java: () => import("@shikijs/langs/java"),
  javascript: () => import("@shikijs/langs/javascript"),
  json: () => import("@shikijs/langs/json"),
  jsx: () => import("@shikijs/langs/jsx"),
  kotlin: () => import("@shikijs/langs/kotlin"),
  lua: () => import("@shikijs/langs/lua"),
  makefile: () => import("@shikijs/langs/makefile"),
  markdown: () => import("@shikijs/langs/markdown"),
  php: () => import("@shikijs/langs/php"),
  powershell: () => import("@shikijs/langs/powershell"),
  python: () => import("@shikijs/langs/python"),
  r: () => import("@shikijs/langs/r"),
  ruby: () => import("@shikijs/langs/ruby"),
  rust: () => import("@shikijs/langs/rust"),
  scala: () => import("@shikijs/langs/scala"),
  sql: () => import("@shikijs/langs/sql"),
  swift: () => import("@shikijs/langs/swift"),
  toml: () => import("@shikijs/langs/toml"),
  tsx: () => import("@shikijs/langs/tsx"),
  typescript: () => import("@shikijs/langs/typescript"),
  xml: () => import("@shikijs/langs/xml"),
  yaml: () => import("@shikijs/langs/yaml"),
};

const aliases: Readonly<Record<string, string>> = {
  "c++": "cpp",
  cjs: "javascript",
  console: "bash",
  cs: "csharp",
  dockerfile: "docker",
  h: "c",
  js: "javascript",
  jsonc: "json",
  kt: "kotlin",
  make: "makefile",
  md: "markdown",
  mjs: "javascript",
  patch: "diff",
  ps1: "powershell",
  py: "python",
  rb: "ruby",
  rs: "rust",
  sh: "bash",
  shell: "bash",
  svg: "xml",
  ts: "typescript",
  yml: "yaml",
  zsh: "bash",
};

export function toLanguageName(name: string): string {
  const lower = name.toLowerCase();
  return aliases[lower] ?? lower;
}

/** The language of a file by the ending of its name; empty if it has none. */
export function languageOfFile(path: string): string {
  const file = path.split("/").at(-1) ?? "";
  return /^(dockerfile|makefile)$/i.test(file) ? file.toLowerCase() : (/\.([^.]+)$/.exec(file)?.[1] ?? "");
}
