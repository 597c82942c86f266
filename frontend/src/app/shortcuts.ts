/* All shortcuts of the page in one place: the handler obeys this list and the help dialog shows it. */

export type ShortcutName = "newChat" | "focusInput" | "stop" | "search" | "help";

type Shortcut = {
  /** Value of `KeyboardEvent.key`, in lower case. */
  readonly key: string;
  /** Control, or Command on a Mac. */
  readonly withControl?: boolean;
  readonly withShift?: boolean;
};

export const shortcuts: Readonly<Record<ShortcutName, Shortcut>> = {
  newChat: { key: "o", withControl: true, withShift: true },
  focusInput: { key: "escape", withShift: true },
  stop: { key: "x", withControl: true, withShift: true },
  search: { key: "k", withControl: true },
  help: { key: "/", withControl: true },
};

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent);

export function toShortcutName(event: KeyboardEvent): ShortcutName | null {
  const hasControl = isMac ? event.metaKey || event.ctrlKey : event.ctrlKey;
  for (const [name, { key, withControl = false, withShift = false }] of Object.entries(shortcuts)) {
    const fits = hasControl === withControl && event.shiftKey === withShift && !event.altKey;
    if (fits && event.key.toLowerCase() === key) return name as ShortcutName;
  }
  return null;
}

const keyNames: Readonly<Record<string, string>> = { escape: "Esc" };

/** The keys as they are printed on the keyboard: "Ctrl", "Shift", "O". */
export function toKeyNames({ key, withControl, withShift }: Shortcut): readonly string[] {
  const last = keyNames[key] ?? key.toUpperCase();
  return [withControl ? (isMac ? "⌘" : "Ctrl") : "", withShift ? (isMac ? "⇧" : "Shift") : "", last].filter(
    Boolean,
  );
}
