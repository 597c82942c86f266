// The session list against a `fetch` that the test answers; store, routing and dialogs are real.
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { groupByAge } from "@/features/sessions/group-by-age";
import { SessionList } from "@/features/sessions/session-list";
import * as tokens from "@/shared/api/access-token";
import type { SessionSummary } from "@/shared/api/rest";
import { useAppStore } from "@/shared/store/app-store";

import "@/shared/i18n/i18n";

function session(id: string, title: string, more: Partial<SessionSummary> = {}): SessionSummary {
  return {
    id,
    title,
    status: "idle",
    owner: "u1",
    model: "m",
    permission_mode: "default",
    plugins: [],
    profile: null,
    profile_display_name: null,
    last_seq: 1,
    cost_usd: 0,
    context_percent: null,
    forked_from: null,
    created_at: new Date().toISOString(),
    last_active_at: new Date().toISOString(),
    ...more,
  };
}

let calls: string[] = [];

beforeEach(() => {
  calls = [];
  useAppStore.setState(useAppStore.getInitialState(), true);
  vi.spyOn(tokens, "freshToken").mockResolvedValue("t");
  vi.stubGlobal("fetch", (path: string, { method = "GET", body }: RequestInit) => {
    calls.push(`${method} ${path.replace("/api/v1", "")}${typeof body === "string" ? ` ${body}` : ""}`);
    const q = new URL(path, location.href).searchParams.get("q") ?? "";
    const all = [
      session("a", "Apples", { status: "awaiting_permission" }),
      session("b", "Bread", { status: "responding" }),
      session("c", ""),
    ];
    const items = all.filter(({ title }) => title.toLowerCase().includes(q));
    return Promise.resolve(
      method === "DELETE"
        ? new Response(null, { status: 204 })
        : new Response(JSON.stringify({ items, next_cursor: null })),
    );
  });
});
afterEach(() => vi.unstubAllGlobals());

const show = () => render(<SessionList currentId="a" onChoose={() => undefined} />);

test("sessions are links with a name and a status in words", async () => {
  show();
  const current = await screen.findByRole("link", { name: /Apples/ });
  expect(current.getAttribute("href")).toBe("/s/a");
  expect(current.getAttribute("aria-current")).toBe("page");
  expect(current.textContent).toContain("Needs your answer");
  expect(screen.getByRole("link", { name: /Bread/ }).textContent).toContain("Working");
  expect(screen.getByRole("link", { name: /New conversation/ })).toBeDefined();
});

test("a search asks the server and says when nothing fits", async () => {
  show();
  await userEvent.type(screen.getByRole("searchbox"), "zzz");
  expect(await screen.findByText("No conversation matches “zzz”.")).toBeDefined();
  expect(calls.at(-1)).toContain("q=zzz");
});

test("a new title is shown at once and sent; Escape keeps the old one", async () => {
  show();
  await userEvent.click(await screen.findByRole("button", { name: "Rename “Apples”" }));
  // The old title is selected, so typing replaces it.
  await userEvent.keyboard("Pears{Enter}");
  expect(screen.getByRole("link", { name: /Pears/ })).toBeDefined();
  await waitFor(() => expect(calls).toContain('PATCH /sessions/a {"title":"Pears"}'));
  await userEvent.click(screen.getByRole("button", { name: "Rename “Bread”" }));
  await userEvent.type(screen.getByRole("textbox", { name: "Title" }), "Cake{Escape}");
  expect(screen.getByRole("link", { name: /Bread/ })).toBeDefined();
});

test("nothing is deleted without a second yes", async () => {
  show();
  await userEvent.click(await screen.findByRole("button", { name: "Delete “Bread”" }));
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Cancel" }));
  expect(screen.queryByRole("dialog")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Delete “Bread”" }));
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Delete" }));
  await waitFor(() => expect(calls).toContain("DELETE /sessions/b"));
  expect(screen.queryByRole("link", { name: /Bread/ })).toBeNull();
});

test("groups follow the calendar, not the hours", () => {
  const now = new Date(2026, 5, 15, 0, 30).getTime();
  const at = (day: number, hour: number) =>
    session("x", "x", { last_active_at: new Date(2026, 5, day, hour).toISOString() });
  const groups = groupByAge([at(15, 0), at(14, 23), at(9, 12), at(1, 12)], now);
  expect(groups.map(({ name }) => name)).toEqual(["today", "yesterday", "week", "older"]);
});
