import { act, createElement, type ComponentType } from "react";
import { createRoot } from "react-dom/client";

import { PluginContext, type PluginContextValue, type PluginSettings } from "./plugin-sdk.js";

/** Settings that are forgotten with the test. */
export function memorySettings(initial: Readonly<Record<string, unknown>> = {}): PluginSettings {
  const values = new Map(Object.entries(initial));
  const listeners = new Set<() => void>();
  return {
    get: (key) => values.get(key),
    set: (key, value) => {
      values.set(key, value);
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** A context as the page gives it, with what was said through it in `sent` and `inserted`. */
export type FakeContext = PluginContextValue & {
  readonly sent: readonly string[];
  readonly inserted: readonly string[];
};

/** A context for a test; what the test is not about has a value that does no harm. */
export function fakeContext(changes: Partial<PluginContextValue> = {}): FakeContext {
  const sent: string[] = [];
  const inserted: string[] = [];
  return {
    plugin: { name: "plugin", version: "1.0.0" },
    session: { id: "session", title: null, isRunning: false },
    user: { id: "user", name: "alice", role: "user" },
    theme: "light",
    language: "en",
    settings: memorySettings(),
    sendMessage: (text) => void sent.push(text),
    insertText: (text) => void inserted.push(text),
    ...changes,
    sent,
    inserted,
  };
}

export type RenderedSlot = {
  /** What the page would have around the component. */
  readonly element: HTMLElement;
  unmount: () => Promise<void>;
};

/** Renders a component as the page does in a slot, into the document. */
export async function renderSlot<Props extends object>(
  component: ComponentType<Props>,
  props: Props,
  context: PluginContextValue = fakeContext(),
): Promise<RenderedSlot> {
  const element = document.createElement("div");
  element.dataset["plugin"] = context.plugin.name;
  document.body.append(element);
  const root = createRoot(element);
  await act(async () => {
    root.render(createElement(PluginContext, { value: context }, createElement(component, props)));
    await Promise.resolve();
  });
  return {
    element,
    unmount: async () => {
      await act(async () => {
        root.unmount();
        await Promise.resolve();
      });
      element.remove();
    },
  };
}
