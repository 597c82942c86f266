import { i18n } from "@/shared/i18n/i18n";

const language = () => i18n.resolvedLanguage ?? "en";

/** US dollars: cents, and more digits only for what is less than one. */
export function formatCost(usd: number): string {
  const digits = usd === 0 || usd >= 0.01 ? 2 : usd >= 0.001 ? 3 : 4;
  return new Intl.NumberFormat(language(), {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(usd);
}

function unit(value: number, name: string, digits = 0): string {
  return new Intl.NumberFormat(language(), {
    style: "unit",
    unit: name,
    unitDisplay: "narrow",
    maximumFractionDigits: digits,
  }).format(value);
}

/** "340ms", "4.2s", "2m 5s" in the reader's language. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return unit(Math.max(0, Math.round(ms)), "millisecond");
  const seconds = ms / 1000;
  if (seconds < 60) return unit(seconds, "second", seconds < 10 ? 1 : 0);
  const minutes = Math.floor(seconds / 60);
  const rest = Math.floor(seconds % 60);
  if (minutes < 60) return `${unit(minutes, "minute")} ${unit(rest, "second")}`;
  return `${unit(Math.floor(minutes / 60), "hour")} ${unit(minutes % 60, "minute")}`;
}

/** Whole seconds that go by on screen: steady width, no fractions. */
export function formatSeconds(ms: number): string {
  return ms < 60_000 ? unit(Math.max(0, Math.floor(ms / 1000)), "second") : formatDuration(ms);
}

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function formatRelativeTime(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000;
  const format = new Intl.RelativeTimeFormat(language(), { numeric: "auto", style: "narrow" });
  for (const [name, length] of steps) {
    if (Math.abs(seconds) >= length) return format.format(Math.round(seconds / length), name);
  }
  return format.format(0, "second");
}

export function formatTime(iso: string): string {
  return new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" }).format(
    new Date(iso),
  );
}

export function formatNumber(value: number): string {
  return new Intl.NumberFormat(language(), { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** "640 bytes", "1.4 MB" in the reader's language. */
export function formatBytes(bytes: number): string {
  const names = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  const power = Math.min(names.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return new Intl.NumberFormat(language(), {
    style: "unit",
    unit: names[power] ?? "byte",
    unitDisplay: power === 0 ? "long" : "short",
    maximumFractionDigits: value < 10 && power > 0 ? 1 : 0,
  }).format(value);
}
