import type { SessionSummary } from "@/shared/api/rest";

export type AgeGroup = "today" | "yesterday" | "week" | "older";

const dayMs = 86_400_000;

function toGroup(iso: string, now: number): AgeGroup {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const time = Date.parse(iso);
  if (time >= midnight) return "today";
  if (time >= midnight - dayMs) return "yesterday";
  return time >= midnight - 7 * dayMs ? "week" : "older";
}

/** Splits a list that is sorted by time into runs of one age, without empty ones. */
export function groupByAge(
  sessions: readonly SessionSummary[],
  now: number,
): readonly { readonly name: AgeGroup; readonly sessions: readonly SessionSummary[] }[] {
  const groups = new Map<AgeGroup, SessionSummary[]>();
  for (const session of sessions) {
    const name = toGroup(session.last_active_at, now);
    groups.set(name, [...(groups.get(name) ?? []), session]);
  }
  return [...groups].map(([name, group]) => ({ name, sessions: group }));
}
