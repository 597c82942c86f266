import type { UserConfig } from "vite";

/** What the page has one copy of, for itself and for all plugins: bundles must not bring their own. */
export const sharedModules = [
  "react",
  "react-dom",
  "react/jsx-runtime",
  "@claude-sdk-pattern/plugin-sdk",
] as const;

export type PluginUiOptions = {
  /** The module that exports the components, such as `src/chart.tsx`. */
  readonly entry: string;
  /** Name of the file it becomes in the plugin's `ui` folder, without its ending; `name` in `ui/name.js`. */
  readonly name: string;
};

/** A configuration for Vite that builds the components of a plugin into its `ui` folder. */
export function pluginUi({ entry, name }: PluginUiOptions): UserConfig {
  if (!/^[a-z0-9][a-z0-9.-]*$/.test(name)) {
    throw new Error(`"${name}" is no name for a file: lower-case letters, digits, dots and hyphens.`);
  }
  return {
    // What is in the environment while the bundle is built is nobody's business.
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    // The runtime for development is not among what the page has.
    oxc: { jsx: { runtime: "automatic", development: false } },
    build: {
      outDir: "ui",
      emptyOutDir: false,
      target: "es2023",
      lib: { entry, formats: ["es"], fileName: () => `${name}.js`, cssFileName: name },
      rolldownOptions: { external: [...sharedModules] },
    },
  };
}
