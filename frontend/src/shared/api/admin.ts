import { request } from "@/shared/api/http";
import type { components } from "@/shared/api/rest.gen";

type Schemas = components["schemas"];

export type User = Readonly<Schemas["UserView"]>;
export type Role = User["role"];
export type PasswordLink = Readonly<Schemas["PasswordLink"]>;
export type SignIn = Readonly<Schemas["SignInView"]>;
export type Spending = Readonly<Schemas["SpendingView"]>;
export type SessionOverview = Readonly<Schemas["SessionOverview"]>;
export type ProcessList = Readonly<Schemas["ProcessList"]>;
export type CostPage = Readonly<Schemas["CostPage"]>;
export type Policy = Readonly<Schemas["PolicyView"]>;
export type Rule = Readonly<Schemas["RuleView"]>;
export type NewRule = Readonly<Schemas["NewRule"]>;
export type Explanation = Readonly<Schemas["Explanation"]>;

/** A page of a list; `next_cursor` asks for the next one. */
export type Page<T> = { readonly items: readonly T[]; readonly next_cursor: string | null };

export type PageQuery = {
  readonly q?: string;
  readonly cursor?: string | undefined;
  readonly signal?: AbortSignal;
};

function list<T>(path: string, { q, cursor, signal }: PageQuery): Promise<T> {
  return request("GET", path, { query: { q, cursor }, ...(signal && { signal }) });
}

const userPath = (id: string) => `/admin/users/${encodeURIComponent(id)}`;

export function fetchUsers(query: PageQuery): Promise<Page<User>> {
  return list("/admin/users", query);
}

/** Makes a user who gets a link to choose a password with. */
export function addUser(username: string, role: Role): Promise<Schemas["MadeUser"]> {
  return request("POST", "/admin/users", { body: { username, role } });
}

export function updateUser(id: string, change: { role?: Role; disabled?: boolean }): Promise<User> {
  return request("PATCH", userPath(id), { body: change });
}

export function deleteUser(id: string): Promise<void> {
  return request("DELETE", userPath(id));
}

export function resetPassword(id: string): Promise<PasswordLink> {
  return request("POST", `${userPath(id)}/password-reset`);
}

export function endSignIns(id: string): Promise<void> {
  return request("DELETE", `${userPath(id)}/sign-ins`);
}

export function fetchAllSessions(query: PageQuery): Promise<Page<SessionOverview>> {
  return list("/admin/sessions", query);
}

export function fetchProcesses(): Promise<ProcessList> {
  return request("GET", "/admin/processes");
}

export function fetchCosts(query: PageQuery): Promise<CostPage> {
  return list("/admin/costs", query);
}

export function fetchPolicy(): Promise<Policy> {
  return request("GET", "/policy");
}

export function addRule(rule: NewRule): Promise<Rule> {
  return request("POST", "/policy/rules", { body: rule });
}

export function removeRule(id: string): Promise<void> {
  return request("DELETE", `/policy/rules/${encodeURIComponent(id)}`);
}

/** What the permission gate would say of a command, in a session of somebody with that role. */
export function explainCommand(command: string, role: Role): Promise<Explanation> {
  return request("POST", "/policy/explain", { body: { tool: "Bash", input: { command }, role } });
}

export function fetchOwnSpending(): Promise<Spending> {
  return request("GET", "/auth/spending");
}

export function fetchOwnSignIns(): Promise<readonly SignIn[]> {
  return request("GET", "/auth/sign-ins");
}

export function endOwnSignIn(id: string): Promise<void> {
  return request("DELETE", `/auth/sign-ins/${encodeURIComponent(id)}`);
}
