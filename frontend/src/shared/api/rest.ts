import type { AnyEvent } from "@/shared/api/frames.gen";
import { request, requestBlob } from "@/shared/api/http";
import type { components } from "@/shared/api/rest.gen";

type Schemas = components["schemas"];

export type SessionSummary = Readonly<Schemas["SessionView"]>;
export type SessionPage = Readonly<Schemas["SessionPage"]>;
export type Me = Readonly<Schemas["Me"]>;

export type SessionSettings = Partial<Readonly<Pick<Schemas["CreateSession"], "model" | "permission_mode">>>;

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

export function createSession(settings: SessionSettings = {}): Promise<SessionSummary> {
  return request("POST", "/sessions", { body: settings });
}

export function fetchSession(id: string): Promise<SessionSummary> {
  return request("GET", sessionPath(id));
}

export function renameSession(id: string, title: string): Promise<SessionSummary> {
  return request("PATCH", sessionPath(id), { body: { title } });
}

export function deleteSession(id: string): Promise<void> {
  return request("DELETE", sessionPath(id));
}

/** One event as it is on the tape, not shortened. */
export function fetchEvent(sessionId: string, seq: number): Promise<AnyEvent> {
  return request("GET", `${sessionPath(sessionId)}/messages/${seq}`);
}

export const attachmentsPath = (sessionId: string) => `${sessionPath(sessionId)}/attachments`;

export function fetchAttachment(sessionId: string, attachmentId: string): Promise<Blob> {
  return requestBlob(`${attachmentsPath(sessionId)}/${encodeURIComponent(attachmentId)}`);
}
