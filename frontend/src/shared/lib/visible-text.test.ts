import { expect, test } from "vitest";

import { hasHiddenCharacters, toVisiblePieces } from "@/shared/lib/visible-text";

test.each([
  ["a right-to-left override", "rm \u202e/tmp", "U+202E"],
  ["a zero-width space", "goo\u200bgle", "U+200B"],
  ["a bidirectional isolate", "a\u2066b", "U+2066"],
  ["a byte order mark", "\ufeffls", "U+FEFF"],
  ["an escape character", "\u001b[2Kls", "U+001B"],
  ["a carriage return", "safe\revil", "U+000D"],
  ["a no-break space", "rm\u00a0-rf", "U+00A0"],
  ["a tag character", "x\u{e0041}", "U+E0041"],
  ["a Hangul filler", "x\u3164", "U+3164"],
])("%s is shown by its code point", (_, text, code) => {
  const pieces = toVisiblePieces(text);
  expect(pieces.filter((piece) => piece.isHidden).map((piece) => piece.text)).toEqual([code]);
});

test("line breaks, tabs, accents, other scripts and emoji are left alone", () => {
  const text = "a\n\tb é ß 漢字 עברית 😀";
  expect(hasHiddenCharacters(text)).toBe(false);
  expect(toVisiblePieces(text)).toEqual([{ text, isHidden: false }]);
});
