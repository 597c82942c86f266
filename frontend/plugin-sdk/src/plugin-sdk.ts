import { createContext, use, useCallback, useSyncExternalStore } from "react";

/** The conversation on screen. */
export type PluginSession = {
  readonly id: string;
  readonly title: string | null;
  /** Whether the agent is at work on a message. */
  readonly isRunning: boolean;
};

export type PluginUser = {
  readonly id: string;
  readonly name: string;
  readonly role: "user" | "operator" | "admin";
};

/** Values that a plugin keeps in this browser, for the person who is signed in. Anything that JSON can hold. */
export type PluginSettings = {
  /** The value of a key; undefined if it was never set. */
  get: (key: string) => unknown;
  set: (key: string, value: unknown) => void;
  /** Calls `listener` after each change, from whichever component or tab. Returns what ends that. */
  subscribe: (listener: () => void) => () => void;
};

/** What the page gives to every component of a plugin. */
export type PluginContextValue = {
  readonly plugin: { readonly name: string; readonly version: string };
  /** Null where there is no conversation yet, and outside of one. */
  readonly session: PluginSession | null;
  readonly user: PluginUser;
  readonly theme: "light" | "dark";
  /** Of the page, as in `lang`, such as `en`. */
  readonly language: string;
  readonly settings: PluginSettings;
  /** Says something in the conversation, as the person. Throws where there is no conversation to say it in. */
  sendMessage: (text: string) => void;
  /** Puts a text into the input, behind what stands there, for the person to change and send. Throws likewise. */
  insertText: (text: string) => void;
};

/** A content block of a tool's result, as the Messages API has it: `{type: "text", text}` and others. */
export type ResultBlock = Readonly<Record<string, unknown>>;

/** What a `message-renderer` gets. Components in other slots get nothing: see `usePluginContext`. */
export type MessageRendererProps = {
  readonly toolUseId: string;
  /** Such as `mcp__chart__draw`. */
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What the tool answered, whole. Renderers are not asked about errors. */
  readonly result: string | readonly ResultBlock[];
};

/** Provided by the page, and by `renderSlot` of `@claude-sdk-pattern/plugin-sdk/testing`. */
export const PluginContext = createContext<PluginContextValue | null>(null);

/** @throws {Error} outside of a slot. */
export function usePluginContext(): PluginContextValue {
  const context = use(PluginContext);
  if (context === null)
    throw new Error("A component of a plugin was rendered outside of a slot of the page.");
  return context;
}

/** A setting and the function that changes it, as `useState` has them. All components of the plugin see the change. */
export function usePluginSetting<T>(key: string, initial: T): readonly [T, (value: T) => void] {
  const { settings } = usePluginContext();
  const value = useSyncExternalStore(settings.subscribe, () => settings.get(key));
  const set = useCallback((next: T) => settings.set(key, next), [settings, key]);
  return [value === undefined ? initial : (value as T), set];
}

/** The text of a result; blocks of other kinds are left out. */
export function resultText(result: MessageRendererProps["result"]): string {
  if (typeof result === "string") return result;
  return result.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n");
}
