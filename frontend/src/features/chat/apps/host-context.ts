import type { McpUiHostContext, McpUiStyleVariableKey } from "@modelcontextprotocol/ext-apps/app-bridge";

/** What this page calls the colours that the standard has names for. */
const colours: Partial<Record<McpUiStyleVariableKey, string>> = {
  "--color-background-primary": "--surface",
  "--color-background-secondary": "--sunken",
  "--color-background-tertiary": "--hover",
  "--color-background-info": "--accent-wash",
  "--color-background-danger": "--red-wash",
  "--color-background-success": "--green-wash",
  "--color-background-warning": "--amber-wash",
  "--color-text-primary": "--ink",
  "--color-text-secondary": "--ink-soft",
  "--color-text-tertiary": "--ink-faint",
  "--color-text-info": "--accent",
  "--color-text-danger": "--red",
  "--color-text-success": "--green",
  "--color-text-warning": "--amber",
  "--color-border-primary": "--line-strong",
  "--color-border-secondary": "--line",
  "--color-border-danger": "--red-line",
  "--color-border-warning": "--amber-line",
  "--color-ring-primary": "--accent",
};

const sizes: Partial<Record<McpUiStyleVariableKey, string>> = {
  "--font-sans": "ui-sans-serif, system-ui, sans-serif",
  "--font-mono": "ui-monospace, Menlo, Consolas, monospace",
  "--border-radius-sm": "6px",
  "--border-radius-md": "8px",
  "--border-radius-lg": "12px",
  "--font-text-sm-size": "0.8125rem",
  "--font-text-md-size": "0.9375rem",
};

export const maxHeight = 600;

/** What an app is told of the page around it. */
export function toHostContext(theme: "light" | "dark", locale: string): McpUiHostContext {
  const page = getComputedStyle(document.documentElement);
  const painted = Object.entries(colours).map(([name, ours]) => [name, page.getPropertyValue(ours).trim()]);
  return {
    theme,
    locale,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    displayMode: "inline",
    availableDisplayModes: ["inline"],
    containerDimensions: { maxHeight },
    platform: "web",
    deviceCapabilities: {
      touch: matchMedia("(hover: none)").matches,
      hover: matchMedia("(hover: hover)").matches,
    },
    styles: {
      variables: { ...sizes, ...Object.fromEntries(painted) } as Record<
        McpUiStyleVariableKey,
        string | undefined
      >,
    },
  };
}
