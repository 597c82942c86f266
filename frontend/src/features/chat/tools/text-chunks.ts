// Small enough to be laid out within a frame, large enough that twenty megabytes are a few hundred of them.
const chunkLength = 48 * 1024;
// A guess at how many characters a line of the view holds, for the height of what was not laid out yet.
const lineLength = 90;

export type TextChunk = { readonly text: string; readonly lines: number };

/** Splits a text at line ends into pieces; a line that is longer than a piece is split within. Joined they give all. */
export function toChunks(text: string): readonly TextChunk[] {
  const chunks: TextChunk[] = [];
  for (let from = 0; from < text.length;) {
    const piece = text.slice(from, cutAfter(text, from));
    from += piece.length;
    chunks.push({ text: piece, lines: countLines(piece) });
  }
  return chunks;
}

function cutAfter(text: string, from: number): number {
  const limit = from + chunkLength;
  if (limit >= text.length) return text.length;
  const lineEnd = text.lastIndexOf("\n", limit);
  if (lineEnd > from) return lineEnd + 1;
  // Not between the halves of a character.
  const isHalf = /[\uDC00-\uDFFF]/.test(text.charAt(limit));
  return isHalf ? limit + 1 : limit;
}

function countLines(text: string): number {
  return text
    .split("\n")
    .reduce((count, line) => count + Math.max(1, Math.ceil(line.length / lineLength)), 0);
}
