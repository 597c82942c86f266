import { toApiError } from "@/shared/api/api-error";
import type { AnyEvent } from "@/shared/api/frames.gen";
import { request, requestBlob } from "@/shared/api/http";
import type { components } from "@/shared/api/rest.gen";

type Schemas = components["schemas"];

export type SessionSummary = Readonly<Schemas["SessionView"]>;
export type SessionPage = Readonly<Schemas["SessionPage"]>;
export type Me = Readonly<Schemas["Me"]>;

export type AuditEntry = Readonly<Schemas["AuditEntryView"]>;
export type AuditPage = Readonly<Schemas["AuditPage"]>;
export type AuditChain = Readonly<Schemas["AuditChain"]>;

export type SessionSettings = Partial<
  Readonly<Pick<Schemas["CreateSession"], "model" | "permission_mode" | "profile">>
>;

export type Profile = Readonly<Schemas["ProfileView"]>;

/** Who an agent can be. */
export async function fetchProfiles(): Promise<readonly Profile[]> {
  return (await request<Schemas["ProfileList"]>("GET", "/profiles")).items;
}

const sessionPath = (id: string) => `/sessions/${encodeURIComponent(id)}`;

export function fetchMe(): Promise<Me> {
  return request("GET", "/auth/me");
}

/** How one can sign in besides with a password; for those who are not signed in yet. */
export async function fetchSignInMethods(): Promise<Readonly<Schemas["SignInMethods"]>> {
  const response = await fetch("/api/v1/auth/methods");
  if (!response.ok) throw await toApiError(response);
  return (await response.json()) as Schemas["SignInMethods"];
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

export type RuleSummary = Readonly<Schemas["RuleView"]>;

/** What is allowed in a session without asking, because somebody said so. */
export function fetchRules(sessionId: string): Promise<Readonly<Schemas["RuleList"]>> {
  return request("GET", `${sessionPath(sessionId)}/rules`);
}

export function forgetRule(sessionId: string, ruleId: string): Promise<void> {
  return request("DELETE", `${sessionPath(sessionId)}/rules/${encodeURIComponent(ruleId)}`);
}

/** One event as it is on the tape, not shortened. */
export function fetchEvent(sessionId: string, seq: number): Promise<AnyEvent> {
  return request("GET", `${sessionPath(sessionId)}/messages/${seq}`);
}

export const attachmentsPath = (sessionId: string) => `${sessionPath(sessionId)}/attachments`;

export function fetchAttachment(sessionId: string, attachmentId: string): Promise<Blob> {
  return requestBlob(`${attachmentsPath(sessionId)}/${encodeURIComponent(attachmentId)}`);
}

export type AuditFilter = {
  readonly actor: string;
  readonly action: string;
  /** Times as ISO 8601 with a zone; empty for none. */
  readonly since: string;
  readonly until: string;
};

/** What was recorded, latest first; of administrators only. */
export function fetchAudit(filter: AuditFilter, cursor?: string, signal?: AbortSignal): Promise<AuditPage> {
  return request("GET", "/admin/audit", {
    query: { ...filter, cursor, limit: "50" },
    ...(signal && { signal }),
  });
}

export function fetchAuditActions(): Promise<readonly string[]> {
  return request("GET", "/admin/audit/actions");
}

/** Has the server look at every entry. */
export function checkAuditChain(): Promise<AuditChain> {
  return request("GET", "/admin/audit/chain");
}

export function fetchAuditExport(): Promise<Blob> {
  return requestBlob("/admin/audit/export");
}
