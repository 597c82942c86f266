import { expect, test } from "vitest";

import { adminPath, sessionPath, toRoute } from "@/shared/lib/router";

test("a session's path leads back to it, whatever its id", () => {
  for (const id of ["abc", "a/b", "ä %"]) expect(toRoute(sessionPath(id))).toEqual({ name: "session", id });
});

test.each(["/", "/s/", "/s/%E0%A4%A", "/unknown"])("%s is the new chat", (path) => {
  expect(toRoute(path)).toEqual({ name: "new_chat" });
});

test("the pages around the conversations have addresses of their own", () => {
  expect(toRoute("/account")).toEqual({ name: "account" });
  expect(toRoute("/setup")).toEqual({ name: "setup" });
  expect(toRoute("/choose-password")).toEqual({ name: "choose_password" });
  expect(toRoute("/admin")).toEqual({ name: "admin", tab: null });
  expect(toRoute(adminPath("users"))).toEqual({ name: "admin", tab: "users" });
});
