import { ApiError, toApiError } from "@/shared/api/api-error";

/*
 * The access token lives in this module's memory and nowhere else; the refresh token is an HttpOnly cookie that no
 * script can read. A reload gets a new access token with the cookie.
 */

type TokenAnswer = { readonly access_token: string; readonly expires_in: number };

// Set while a cookie should exist, so that a first visit does not begin with a refused request.
const hintKey = "csp.signed_in";
// A token is renewed this long before it runs out: longer than a slow request takes.
const marginMs = 30_000;

let current: { readonly token: string; readonly expiresAt: number } | null = null;
let refreshing: Promise<string | null> | null = null;
let onSignedOut: (wasSignedIn: boolean) => void = () => undefined;

/**
 * Called when the refresh token turned out to be spent or revoked; `wasSignedIn` when that ended what this page was
 * doing, rather than being found out as it began.
 */
export function setSignedOutListener(listener: (wasSignedIn: boolean) => void): void {
  onSignedOut = listener;
}

function keep(answer: TokenAnswer): string {
  current = { token: answer.access_token, expiresAt: Date.now() + answer.expires_in * 1000 };
  setHint(true);
  return answer.access_token;
}

function forget(): void {
  current = null;
  setHint(false);
}

function setHint(isSignedIn: boolean): void {
  try {
    if (isSignedIn) localStorage.setItem(hintKey, "1");
    else localStorage.removeItem(hintKey);
  } catch {
    // Storage forbidden: the person signs in again after a reload.
  }
}

/** Whether an earlier visit may still be signed in. */
export function mayBeSignedIn(): boolean {
  try {
    return localStorage.getItem(hintKey) !== null;
  } catch {
    return false;
  }
}

async function post(path: string, body: unknown, token?: string): Promise<Response> {
  const headers = new Headers({ "content-type": "application/json" });
  if (token) headers.set("authorization", `Bearer ${token}`);
  try {
    return await fetch(`/api/v1/auth/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  } catch {
    throw new ApiError({ status: 0, code: "unreachable", message: "The server cannot be reached." });
  }
}

async function signInWith(path: string, body: unknown, token?: string): Promise<void> {
  const response = await post(path, body, token);
  if (!response.ok) throw await toApiError(response);
  keep((await response.json()) as TokenAnswer);
}

/** @throws {ApiError} wrong name or password, too many attempts, or no answer. */
export function signIn(username: string, password: string): Promise<void> {
  return signInWith("login", { username, password });
}

/** Makes the first user with a link's secret. @throws {ApiError} `link_expired`, `setup_done`, a bad name or password. */
export function setUp(token: string, username: string, password: string): Promise<void> {
  return signInWith("setup", { token, username, password });
}

/** Chooses a password with a link's secret. @throws {ApiError} `link_expired`, `weak_password`. */
export function choosePassword(token: string, password: string): Promise<void> {
  return signInWith("choose-password", { token, password });
}

/** Changes one's password; this page stays signed in. @throws {ApiError} `wrong_credentials`, `weak_password`. */
export async function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  const token = await freshToken();
  await signInWith(
    "password",
    { current_password: currentPassword, new_password: newPassword },
    token ?? undefined,
  );
}

/** Leaves for the identity provider, to come back signed in at `next`. */
export function signInWithProvider(next: string): void {
  setHint(true);
  location.assign(`/api/v1/auth/oidc/login?next=${encodeURIComponent(next)}`);
}

export async function signOut(): Promise<void> {
  const token = current?.token;
  forget();
  // The cookie is spent by the server. If it cannot be reached, the page is signed out all the same.
  await post("logout", {}, token).catch(() => undefined);
}

async function refreshOnce(): Promise<string | null> {
  const response = await post("refresh", {});
  if (response.ok) return keep((await response.json()) as TokenAnswer);
  if (response.status !== 401 && response.status !== 403) throw await toApiError(response);
  const wasSignedIn = current !== null;
  forget();
  onSignedOut(wasSignedIn);
  return null;
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  // Locks exist in secure contexts only; elsewhere two tabs may still collide, and one of them signs in again.
  const locks = (navigator as Partial<Navigator>).locks as LockManager | null | undefined;
  return locks ? await locks.request("csp.refresh", work) : work();
}

/**
 * Gets a new access token with the cookie; null when the person must sign in again. Tabs take turns: a refresh
 * token works once, and two tabs that spend the same one look like a thief to the server.
 *
 * @throws {ApiError} the server could not be asked; the person is still signed in.
 */
export function refreshToken(): Promise<string | null> {
  refreshing ??= inTurn(refreshOnce).finally(() => {
    refreshing = null;
  });
  return refreshing;
}

/** The access token, renewed first if it is about to run out; null when nobody is signed in. */
export async function freshToken(): Promise<string | null> {
  if (current && current.expiresAt - Date.now() > marginMs) return current.token;
  return current || mayBeSignedIn() ? refreshToken() : null;
}
