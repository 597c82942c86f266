import { useEffect, useState } from "react";

import type { HighlightedLine } from "@/features/chat/markdown/highlighter";

// Colouring a long file takes the main thread for longer than a frame, and nobody reads it here.
const maxHighlightedLength = 40_000;

type HighlightedCodeProps = {
  readonly code: string;
  /** Empty or unknown: plain. */
  readonly language: string;
};

/** Code, plain at once and coloured as soon as the highlighter and the language have been loaded. */
export function HighlightedCode({ code, language }: HighlightedCodeProps) {
  const [result, setResult] = useState<{ code: string; lines: readonly HighlightedLine[] } | null>(null);
  useEffect(() => {
    if (language === "" || code.length > maxHighlightedLength) return;
    let isStale = false;
    import("@/features/chat/markdown/highlighter")
      .then(({ highlight }) => highlight(code, language))
      .then((lines) => {
        if (!isStale && lines) setResult({ code, lines });
      })
      .catch(() => undefined);
    return () => {
      isStale = true;
    };
  }, [code, language]);

  if (result?.code !== code) return <code>{code}</code>;
  return (
    <code>
      {result.lines.map((line, index) => (
        <span key={index}>
          {line.map((token, position) => (
            <span key={position} style={token.color ? { color: token.color } : undefined}>
              {token.content}
            </span>
          ))}
          {index < result.lines.length - 1 && "\n"}
        </span>
      ))}
    </code>
  );
}
