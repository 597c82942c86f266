import { expect, it } from "vitest";

import { TokenBucket } from "@/shared/lib/token-bucket";

it("gives what it holds at once, then as much as comes back", () => {
  let now = 0;
  const bucket = new TokenBucket(2, 1, () => now);
  expect([bucket.take(), bucket.take(), bucket.take()]).toEqual([true, true, false]);
  now = 999;
  expect(bucket.take()).toBe(false);
  now = 1_000;
  expect([bucket.take(), bucket.take()]).toEqual([true, false]);
  now = 60_000;
  expect([bucket.take(), bucket.take(), bucket.take()]).toEqual([true, true, false]);
});
