import type { PluginSettings } from "@claude-sdk-pattern/plugin-sdk";

const made = new Map<string, PluginSettings>();

/** What a plugin keeps in this browser for one person. The same object for the same two. */
export function pluginSettings(plugin: string, userId: string): PluginSettings {
  const storageKey = `csp.plugin.${plugin}.${userId}`;
  const known = made.get(storageKey);
  if (known) return known;
  const settings = make(storageKey);
  made.set(storageKey, settings);
  return settings;
}

function make(storageKey: string): PluginSettings {
  const listeners = new Set<() => void>();
  let values = read(storageKey);
  const tell = () => {
    for (const listener of listeners) listener();
  };
  addEventListener("storage", ({ key }) => {
    if (key !== storageKey) return;
    values = read(storageKey);
    tell();
  });
  return {
    get: (key) => values[key],
    set: (key, value) => {
      values = { ...values, [key]: value };
      try {
        localStorage.setItem(storageKey, JSON.stringify(values));
      } catch {
        // Storage forbidden or full: it holds as long as the page.
      }
      tell();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function read(storageKey: string): Readonly<Record<string, unknown>> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "{}");
    return typeof stored === "object" && stored !== null ? (stored as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
