import fc from "fast-check";
import { expect, test } from "vitest";

import { toChunks } from "@/features/chat/tools/text-chunks";

const line = fc.string({ maxLength: 120, unit: "grapheme" }).map((text) => text.replaceAll(/[\r\n]/g, " "));

test("pieces are whole lines, and joined they are the text again", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 40 }), fc.integer({ min: 1, max: 200 }), (lines, times) => {
      const text = Array.from({ length: times }, () => lines.join("\n")).join("\n");
      const pieces = toChunks(text).map((chunk) => chunk.text);
      expect(pieces.join("")).toBe(text);
      expect(pieces.slice(0, -1).every((piece) => piece.endsWith("\n"))).toBe(true);
    }),
    { numRuns: 40 },
  );
});

test("a line that is longer than a piece is split, and no character in two", () => {
  const chunks = toChunks("🐚".repeat(200_000));
  expect(chunks.length).toBeGreaterThan(1);
  expect(chunks.every(({ text }) => /^(🐚)+$/u.test(text))).toBe(true);
  expect(chunks.map(({ text }) => text).join("")).toHaveLength(400_000);
});
