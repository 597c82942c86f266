import { expect, test } from "vitest";

import { sessionPath, toRoute } from "@/shared/lib/router";

test("a session's path leads back to it, whatever its id", () => {
  for (const id of ["abc", "a/b", "ä %"]) expect(toRoute(sessionPath(id))).toEqual({ name: "session", id });
});

test.each(["/", "/s/", "/s/%E0%A4%A", "/unknown"])("%s is the new chat", (path) => {
  expect(toRoute(path)).toEqual({ name: "new_chat" });
});
