import { expect, test } from "vitest";

import { toGivenAnswer, toQuestions } from "@/features/chat/cards/questions";

test("an answer is read out of the tool's sentence, question marks and quotes included", () => {
  const result =
    'Your questions have been answered: "Which?"="Blue, Green", "Say "hi"?"="a "b" c". You can continue.';
  expect(toGivenAnswer(result, "Which?")).toBe("Blue, Green");
  expect(toGivenAnswer('"Q"="last"', "Q")).toBe("last");
  expect(toGivenAnswer(result, "Not asked")).toBeNull();
});

test("input that is not a list of questions has none", () => {
  for (const input of [null, {}, { questions: "x" }, { questions: [null, 1, { header: "h" }] }]) {
    expect(toQuestions(input)).toEqual([]);
  }
});
