import { Lexer, type Token } from "marked";
import remend from "remend";

// The last block is still growing, and the one before it may yet turn out to belong to it.
const unsettledBlocks = 2;

const repair = { linkMode: "text-only", images: false, htmlTags: false } as const;

function lex(text: string): readonly Token[] {
  return new Lexer({ gfm: true }).lex(text).filter((token) => token.type !== "space");
}

/**
 * Reads Markdown that grows at its end. Only the tail is read again for each piece that arrives, so a long answer
 * costs per token what a short one does, and blocks that are settled keep their identity.
 *
 * Unfinished marks at the end (`**bo`) are closed while more text is expected.
 */
export class IncrementalLexer {
  #settledText = "";
  #settled: readonly Token[] = [];

  parse(text: string, isGrowing: boolean): readonly Token[] {
    // Definitions of links may stand anywhere: the finished text is read as a whole.
    if (!isGrowing) return lex(text);
    if (!text.startsWith(this.#settledText)) {
      this.#settledText = "";
      this.#settled = [];
    }
    const tail = text.slice(this.#settledText.length);
    const tokens = new Lexer({ gfm: true }).lex(remend(tail, repair));
    const blocks = tokens.filter((token) => token.type !== "space");
    const result = [...this.#settled, ...blocks];
    this.#settle(tail, tokens, blocks.length - unsettledBlocks);
    return result;
  }

  #settle(tail: string, tokens: readonly Token[], count: number): void {
    if (count <= 0) return;
    const firstUnsettled = tokens.filter((token) => token.type !== "space")[count];
    const settled = tokens.slice(0, firstUnsettled ? tokens.indexOf(firstUnsettled) : 0);
    const raw = settled.map((token) => token.raw).join("");
    // The repair may have changed the text; then this part waits for the next piece.
    if (!tail.startsWith(raw)) return;
    this.#settledText += raw;
    this.#settled = [...this.#settled, ...settled.filter((token) => token.type !== "space")];
  }
}
