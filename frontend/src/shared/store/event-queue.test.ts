import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { EventQueue } from "@/shared/store/event-queue";
import { tape } from "@/shared/tape/tape-fixtures";

const events = tape(Array.from({ length: 6 }, () => ({ type: "status", status: "idle" })));

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("whatever arrives within one frame is applied at once, in order", () => {
  const apply = vi.fn();
  const queue = new EventQueue(apply);
  queue.push(events.slice(0, 2));
  queue.push(events.slice(2, 4));
  expect(apply).not.toHaveBeenCalled();
  vi.advanceTimersToNextFrame();
  queue.push(events.slice(4));
  vi.advanceTimersToNextFrame();
  expect(apply.mock.calls).toEqual([[events.slice(0, 4)], [events.slice(4)]]);
});

test("a hidden tab, which gets no frames, is kept up to date too", () => {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  const apply = vi.fn();
  new EventQueue(apply).push(events);
  vi.advanceTimersByTime(250);
  expect(apply).toHaveBeenCalledExactlyOnceWith(events);
});
