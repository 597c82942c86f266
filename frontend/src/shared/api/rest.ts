import { request } from "@/shared/api/http";
import type { components } from "@/shared/api/rest.gen";

type Schemas = components["schemas"];

export type SessionSummary = Readonly<Schemas["SessionView"]>;
export type SessionPage = Readonly<Schemas["SessionPage"]>;
export type Me = Readonly<Schemas["Me"]>;

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
