/* The first paint is themed by public/theme.js; this module follows later changes. Both read the same key. */

export type ThemeChoice = "light" | "dark" | "system";

export const themeChoices: readonly ThemeChoice[] = ["light", "system", "dark"];

const storageKey = "csp.theme";
const listeners = new Set<() => void>();
const systemDark = () => matchMedia("(prefers-color-scheme: dark)");

let choice = read();

function read(): ThemeChoice {
  try {
    const stored = localStorage.getItem(storageKey);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

/** The theme that is on screen, whoever chose it. */
export function getTheme(): "light" | "dark" {
  return choice === "dark" || (choice === "system" && systemDark().matches) ? "dark" : "light";
}

function paint(): void {
  document.documentElement.dataset["theme"] = getTheme();
  for (const listener of listeners) listener();
}

export function getThemeChoice(): ThemeChoice {
  return choice;
}

export function setThemeChoice(next: ThemeChoice): void {
  choice = next;
  try {
    if (next === "system") localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, next);
  } catch {
    // Storage forbidden: the choice lasts as long as the page.
  }
  paint();
}

export function subscribeTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Follows the system's theme and other tabs from now on. */
export function startTheme(): void {
  paint();
  systemDark().addEventListener("change", paint);
  addEventListener("storage", ({ key }) => {
    if (key !== storageKey) return;
    choice = read();
    paint();
  });
}
