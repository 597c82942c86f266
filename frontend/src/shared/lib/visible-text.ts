/*
 * A command can look like one thing and do another: right-to-left marks reorder it on screen, zero-width characters
 * hide in names, control characters vanish. Before a person allows a call, they are shown as what they are.
 */
const hidden = /[\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u3164\uffa0]|(?![\n\t])\p{Cc}/u;
const pieces = new RegExp(`${hidden.source}|[^]`, "gu");

export type TextPiece = { readonly text: string; readonly isHidden: boolean };

/** "U+202E" for the right-to-left override. */
function codePoint(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return `U+${hex.padStart(4, "0")}`;
}

export function hasHiddenCharacters(text: string): boolean {
  return hidden.test(text);
}

/** Splits a text into plain runs and single hidden characters, the latter by their code point. */
export function toVisiblePieces(text: string): readonly TextPiece[] {
  if (!hasHiddenCharacters(text)) return [{ text, isHidden: false }];
  const result: TextPiece[] = [];
  for (const [character] of text.matchAll(pieces)) {
    const isHidden = hidden.test(character);
    const last = result.at(-1);
    if (isHidden) result.push({ text: codePoint(character), isHidden: true });
    else if (last && !last.isHidden) result[result.length - 1] = { ...last, text: last.text + character };
    else result.push({ text: character, isHidden: false });
  }
  return result;
}
