// What is offered after a turn that did not end well, and where.
import { describe, expect, test } from "vitest";

import { actionFor, actionPlace } from "@/features/chat/turn-action";
import type { AnyEvent } from "@/shared/api/frames.gen";
import { reduce } from "@/shared/tape/reduce";
import { tape } from "@/shared/tape/tape-fixtures";
import { emptyTranscript } from "@/shared/tape/transcript";

const message: AnyEvent = { type: "user_message", text: "do it", client_id: "c" };
const work: AnyEvent = { type: "text", block_id: "b", content: "I begin." };
const error = (code: string): AnyEvent => ({ type: "error", code, message: "No.", recoverable: true });
type ResultEvent = Extract<AnyEvent, { type: "result" }>;
const result = (subtype: ResultEvent["subtype"], reason: string | null = null): AnyEvent => ({
  type: "result",
  subtype,
  is_error: subtype !== "success" && subtype !== "interrupted",
  error: reason,
});
const fold = (...payloads: readonly AnyEvent[]) => reduce(emptyTranscript, tape(payloads));

function offered(code: string | null, ...payloads: readonly AnyEvent[]) {
  const transcript = fold(...payloads);
  const turn = transcript.turns["turn-1"];
  return turn ? actionFor(transcript, turn, code) : undefined;
}

describe("the place of the action", () => {
  test("is the turn's last error, or its result if it has none", () => {
    const failed = result("error", "529");
    expect(actionPlace(fold(message, error("a"), error("b"), failed), "turn-1")).toBe("seq:3");
    expect(actionPlace(fold(message, failed), "turn-1")).toBe("result");
  });

  test("is nowhere while a turn runs, after a good end, and after a person's stop", () => {
    expect(actionPlace(fold(message, error("a")), "turn-1")).toBeNull();
    expect(actionPlace(fold(message, error("a"), result("success")), "turn-1")).toBeNull();
    expect(actionPlace(fold(message, result("interrupted")), "turn-1")).toBeNull();
    const waiting = reduce(fold(message, result("error")), tape([message], "turn-2", 3));
    expect(actionPlace(waiting, "turn-1")).toBeNull();
  });

  test("is in the last turn that stands", () => {
    const failed = [message, result("error", "529")] as const;
    const both = reduce(fold(...failed), tape(failed, "turn-2", 3));
    expect(actionPlace(both, "turn-1")).toBeNull();
    expect(actionPlace(both, "turn-2")).toBe("result");
    const rewound: AnyEvent = { type: "rewound", before_seq: 3 };
    const taken = reduce(both, tape([rewound], null, 5));
    expect(actionPlace(taken, "turn-1")).toBe("result");
    expect(actionPlace(taken, "turn-2")).toBeNull();
  });
});

describe("the action", () => {
  test("sends the message again when nothing was done yet", () => {
    for (const code of ["api_unavailable", "rate_limited", "server_busy", "subprocess_crash"]) {
      expect(offered(code, message, error(code), result("error", "x"))).toBe("retry");
    }
  });

  test("goes on when work was cut off", () => {
    for (const code of ["subprocess_crash", "agent_silent", "memory_limit", "query_timeout", "crash_loop"]) {
      expect(offered(code, message, work, error(code), result("interrupted", "x"))).toBe("continue");
    }
    expect(offered(null, message, work, result("interrupted", "The server restarted."))).toBe("continue");
    expect(offered(null, message, work, result("timeout"))).toBe("continue");
    expect(offered(null, message, work, result("error_max_turns"))).toBe("continue");
  });

  test("is a new conversation when this one may spend no more", () => {
    expect(offered(null, message, result("error_max_budget"))).toBe("new_chat");
  });

  test("makes room when the conversation is too long: sent again, it would still be", () => {
    expect(offered("conversation_too_long", message, work, result("error", "400"))).toBe("compact");
  });

  test("is a copy of what was answered when the agent's memory of this conversation is no use", () => {
    expect(offered("memory_damaged", message, result("error", "400"))).toBe("new_chat");
    const answered = reduce(
      fold(message, result("success")),
      tape([message, result("error", "400")], "turn-2", 3),
    );
    const turn = answered.turns["turn-2"];
    expect(turn && actionFor(answered, turn, "memory_damaged")).toBe("copy");
  });

  test("is not there when a person at this page can do nothing", () => {
    expect(offered("api_not_authorized", message, result("error", "401"))).toBeNull();
    expect(offered("api_no_credit", message, result("error", "400"))).toBeNull();
  });
});
