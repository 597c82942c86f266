import { request } from "@/shared/api/http";
import type { components } from "@/shared/api/rest.gen";

type Schemas = components["schemas"];

/** An app of a tool call; it is named by the session and the number of the call's event. */
export type App = Readonly<Schemas["AppView"]>;

const path = (sessionId: string, seq: number) => `/sessions/${encodeURIComponent(sessionId)}/apps/${seq}`;

export function fetchApp(sessionId: string, seq: number): Promise<App> {
  return request("GET", path(sessionId, seq));
}

/** An address for a frame, good once and for seconds: a frame can send no header. */
export async function makeAppPageUrl(sessionId: string, seq: number): Promise<string> {
  const { ticket } = await request<Schemas["TicketView"]>("POST", "/auth/ticket");
  return `/api/v1${path(sessionId, seq)}/page?ticket=${encodeURIComponent(ticket)}`;
}

/** Has a tool called for an app, unless a person has to agree first. */
export function callAppTool(
  sessionId: string,
  seq: number,
  call: {
    readonly tool: string;
    readonly arguments: Readonly<Record<string, unknown>>;
    readonly consent: boolean;
  },
): Promise<Readonly<Schemas["AppCallAnswer"]>> {
  return request("POST", `${path(sessionId, seq)}/call`, { body: call });
}

/** The answer is the plugin's, as MCP has the result of `resources/read`. */
export function readAppResource(sessionId: string, seq: number, uri: string): Promise<unknown> {
  return request("GET", `${path(sessionId, seq)}/resource`, { query: { uri } });
}
