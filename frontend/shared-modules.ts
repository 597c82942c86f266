import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

import type { Plugin } from "vite";

const require = createRequire(import.meta.url);

/** The SDK of plugins, which the page has the only running copy of. */
export const pluginSdk = fileURLToPath(new URL("./plugin-sdk/src/plugin-sdk.ts", import.meta.url));

// As the import map in index.html has them. React's packages are CommonJS: what they export is known when they run.
const modules: Readonly<Record<string, () => string>> = {
  "/shared/react.js": () => reexported("react"),
  "/shared/react-dom.js": () => reexported("react-dom"),
  "/shared/jsx-runtime.js": () => reexported("react/jsx-runtime"),
  "/shared/plugin-sdk.js": () => `export * from ${JSON.stringify(pluginSdk)};`,
};

function reexported(name: string): string {
  const names = Object.keys(require(name) as object).filter((key) => /^[A-Za-z_]\w*$/.test(key));
  return `import all from "${name}";\nexport default all;\nexport const { ${names.join(", ")} } = all;`;
}

/** The entries of the build that the import map leads to. Their names hold no hash: the map must not change with them. */
export const sharedEntries = Object.fromEntries(
  Object.keys(modules).map((url) => [url.slice(1).replace(/\.js$/, ""), url]),
);

/** Answers for the modules that plugins share with the page, in the build and in the development server. */
export function sharedModules(): Plugin {
  return {
    name: "shared-modules",
    resolveId: (id) => (id in modules ? id : null),
    load: (id) => modules[id]?.() ?? null,
  };
}
