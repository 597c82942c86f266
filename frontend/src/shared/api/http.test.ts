// Tokens and calls against a `fetch` that the test answers; time is faked, everything else is real.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

type Call = {
  readonly path: string;
  readonly method: string;
  readonly token: string | null;
  readonly body: unknown;
};

let calls: Call[] = [];
let answers: Record<string, () => Response>;

const json = (body: unknown, status = 200) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
const token = (name: string, expires_in = 900) =>
  json({ access_token: name, token_type: "bearer", expires_in });

/** The modules anew: the access token lives in their memory, as it does in a page's. */
async function freshPage() {
  vi.resetModules();
  const tokens = await import("@/shared/api/access-token");
  const { request } = await import("@/shared/api/http");
  return { ...tokens, request };
}

beforeEach(() => {
  calls = [];
  answers = {};
  vi.stubGlobal("fetch", (path: string, { method, headers, body }: RequestInit) => {
    const authorization = new Headers(headers).get("authorization");
    calls.push({
      path,
      method: method ?? "GET",
      token: authorization?.replace("Bearer ", "") ?? null,
      body: typeof body === "string" ? JSON.parse(body) : null,
    });
    const answer = answers[path.replace(/^\/api\/v1/, "")];
    return answer ? Promise.resolve(answer()) : Promise.reject(new TypeError("Failed to fetch"));
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("a call", () => {
  test("carries the access token of the sign-in", async () => {
    answers = { "/auth/login": () => token("t1"), "/sessions?q=x": () => json({ items: [] }) };
    const page = await freshPage();
    await page.signIn("ada", "secret");
    await page.request("GET", "/sessions", { query: { q: "x", cursor: undefined } });
    expect(calls.at(-1)).toMatchObject({ path: "/api/v1/sessions?q=x", token: "t1" });
  });

  test("whose token was refused is repeated once with a new one", async () => {
    const replies = [json({}, 401), json({ ok: true })];
    answers = {
      "/auth/login": () => token("old"),
      "/auth/refresh": () => token("new"),
      "/auth/me": () => replies.shift() ?? json({}, 500),
    };
    const page = await freshPage();
    await page.signIn("ada", "secret");
    expect(await page.request("GET", "/auth/me")).toEqual({ ok: true });
    expect(calls.map((call) => call.token)).toEqual([null, "old", null, "new"]);
  });

  test("that fails says why by the server's code, and by one of its own without an answer", async () => {
    answers = {
      "/auth/login": () => token("t"),
      "/busy": () => json({ code: "session_busy", detail: "Wait." }, 409),
    };
    const page = await freshPage();
    await page.signIn("ada", "secret");
    await expect(page.request("POST", "/busy")).rejects.toMatchObject({
      status: 409,
      code: "session_busy",
      message: "Wait.",
    });
    await expect(page.request("GET", "/nowhere")).rejects.toMatchObject({ code: "unreachable" });
  });
});

describe("the access token", () => {
  test("is nowhere but in memory", async () => {
    answers = { "/auth/login": () => token("very-secret") };
    await (await freshPage()).signIn("ada", "secret");
    const stored = JSON.stringify([localStorage, sessionStorage, document.cookie]);
    expect(stored).toContain("csp.signed_in");
    expect(stored).not.toContain("very-secret");
  });

  test("comes back by the cookie after a reload, and only then is the server asked", async () => {
    answers = { "/auth/login": () => token("t1"), "/auth/refresh": () => token("t2") };
    expect(await (await freshPage()).freshToken()).toBeNull();
    expect(calls).toEqual([]);
    await (await freshPage()).signIn("ada", "secret");
    expect(await (await freshPage()).freshToken()).toBe("t2");
  });

  test("is renewed shortly before it runs out, once for all who ask", async () => {
    vi.useFakeTimers();
    answers = { "/auth/login": () => token("t1", 60), "/auth/refresh": () => token("t2", 60) };
    const page = await freshPage();
    await page.signIn("ada", "secret");
    expect(await page.freshToken()).toBe("t1");
    vi.advanceTimersByTime(31_000);
    expect(await Promise.all([page.freshToken(), page.freshToken()])).toEqual(["t2", "t2"]);
    expect(calls.filter((call) => call.path.endsWith("/refresh"))).toHaveLength(1);
  });

  test("that cannot be renewed signs the person out, but not when the server is away", async () => {
    answers = { "/auth/login": () => token("t1", 1) };
    const page = await freshPage();
    const onSignedOut = vi.fn();
    page.setSignedOutListener(onSignedOut);
    await page.signIn("ada", "secret");
    await expect(page.refreshToken()).rejects.toMatchObject({ code: "unreachable" });
    expect(page.mayBeSignedIn()).toBe(true);
    answers["/auth/refresh"] = () => json({ code: "token_spent" }, 401);
    expect(await page.refreshToken()).toBeNull();
    expect(onSignedOut).toHaveBeenCalledOnce();
    expect(page.mayBeSignedIn()).toBe(false);
  });
});
