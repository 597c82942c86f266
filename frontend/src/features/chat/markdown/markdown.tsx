import type { Token } from "marked";
import { memo, useState } from "react";

import { IncrementalLexer } from "@/features/chat/markdown/incremental-lexer";
import { MarkdownBlock } from "@/features/chat/markdown/markdown-block";

type MarkdownProps = { readonly text: string; readonly isGrowing: boolean };

/** Markdown as React elements. HTML in it is shown as the text it is; nothing is loaded from elsewhere. */
export function Markdown({ text, isGrowing }: MarkdownProps) {
  const [lexer] = useState(() => new IncrementalLexer());
  const blocks = lexer.parse(text, isGrowing);
  return (
    <div className="md">
      {blocks.map((token, index) => (
        // Blocks are only ever added at the end, so their number is their identity.
        <Block key={index} token={token} isOpen={isGrowing && index === blocks.length - 1} />
      ))}
    </div>
  );
}

type BlockProps = { readonly token: Token; readonly isOpen: boolean };

const Block = memo(
  function Block({ token, isOpen }: BlockProps) {
    return <MarkdownBlock token={token} isOpen={isOpen} />;
  },
  (before, after) => before.token.raw === after.token.raw && before.isOpen === after.isOpen,
);
