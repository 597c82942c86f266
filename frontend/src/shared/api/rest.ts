import { request } from "@/shared/api/http";

export type SessionSummary = {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly model: string;
  readonly last_seq: number;
  readonly cost_usd: number;
  readonly context_percent: number | null;
  readonly created_at: string;
  readonly last_active_at: string;
};

export type SessionPage = {
  readonly items: readonly SessionSummary[];
  readonly next_cursor: string | null;
};

export type Me = { readonly id: string; readonly username: string; readonly role: string };

const sessionPath = (id: string) => `/sessions/${encodeURIComponent(id)}`;

export function fetchMe(): Promise<Me> {
  return request("GET", "/auth/me");
}

/** The person's sessions, latest first. `q` searches titles and what was said. */
export function fetchSessions(query: {
  readonly q?: string;
  readonly cursor?: string;
  readonly signal?: AbortSignal;
}): Promise<SessionPage> {
  const { q, cursor, signal } = query;
  return request("GET", "/sessions", { query: { q, cursor, limit: "50" }, ...(signal && { signal }) });
}

export function createSession(): Promise<SessionSummary> {
  return request("POST", "/sessions", { body: {} });
}

export function renameSession(id: string, title: string): Promise<SessionSummary> {
  return request("PATCH", sessionPath(id), { body: { title } });
}

export function deleteSession(id: string): Promise<void> {
  return request("DELETE", sessionPath(id));
}
