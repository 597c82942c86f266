import { fileURLToPath } from "node:url";

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

import { pluginSdk, sharedEntries, sharedModules } from "./shared-modules.ts";

const backend = "http://127.0.0.1:8000";

export default defineConfig({
  base: "/",
  plugins: [react(), tailwindcss(), sharedModules()],
  resolve: {
    alias: {
      "@claude-sdk-pattern/plugin-sdk": pluginSdk,
      "@": fileURLToPath(new URL("./src", import.meta.url)),
    },
  },
  server: {
    host: "127.0.0.1",
    port: 5173,
    proxy: {
      "/api": backend,
      "/ws": { target: backend, ws: true },
    },
  },
  build: {
    outDir: "../src/claude_sdk_pattern/web",
    emptyOutDir: true,
    target: "es2023",
    // Grammars of some languages are large; each is loaded only when a block of it is shown.
    chunkSizeWarningLimit: 800,
    // The content security policy forbids data: fonts and inline scripts, so nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    rolldownOptions: {
      input: { index: "index.html", ...sharedEntries },
      preserveEntrySignatures: "exports-only",
      output: {
        entryFileNames: ({ name }) => (name in sharedEntries ? "[name].js" : "assets/[name]-[hash].js"),
      },
    },
  },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}", "plugin-sdk/src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/test-setup.ts"],
    restoreMocks: true,
  },
});
