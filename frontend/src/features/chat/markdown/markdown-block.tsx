import type { Token, Tokens } from "marked";
import { createElement } from "react";
import { useTranslation } from "react-i18next";

import { CodeBlock } from "@/features/chat/markdown/code-block";
import { Inline } from "@/features/chat/markdown/markdown-inline";
import { MarkdownTable } from "@/features/chat/markdown/markdown-table";

type BlockProps = {
  readonly token: Token;
  /** The text still grows here: code is not highlighted yet. */
  readonly isOpen?: boolean;
};

type BlocksProps = { readonly tokens: readonly Token[]; readonly isOpen?: boolean };

function Blocks({ tokens, isOpen = false }: BlocksProps) {
  return tokens.map((token, index) => (
    <MarkdownBlock key={index} token={token} isOpen={isOpen && index === tokens.length - 1} />
  ));
}

// The page has its own first two levels of headings; those of a message come below. Models begin with the first or the
// second level as they like, so both are the third here and no level is left out.
const toHeadingLevel = (depth: number) => Math.min(6, Math.max(2, depth) + 1);

export function MarkdownBlock({ token, isOpen = false }: BlockProps) {
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      const tag = `h${toHeadingLevel(depth)}`;
      return createElement(tag, { className: `md-h${depth}` }, <Inline tokens={tokens} />);
    }
    case "paragraph":
      return (
        <p>
          <Inline tokens={(token as Tokens.Paragraph).tokens} />
        </p>
      );
    case "code": {
      const { text, lang } = token as Tokens.Code;
      return <CodeBlock code={text} language={lang ?? ""} isOpen={isOpen} />;
    }
    case "list":
      return <List list={token as Tokens.List} isOpen={isOpen} />;
    case "blockquote":
      return (
        <blockquote>
          <Blocks tokens={(token as Tokens.Blockquote).tokens} isOpen={isOpen} />
        </blockquote>
      );
    case "table":
      return <MarkdownTable table={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "html":
      return <p className="whitespace-pre-wrap">{token.raw.trimEnd()}</p>;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? <Inline tokens={tokens} /> : text;
    }
    case "space":
    case "def":
    case "checkbox":
      return null;
    default:
      return token.raw;
  }
}

type ListProps = { readonly list: Tokens.List; readonly isOpen: boolean };

function List({ list, isOpen }: ListProps) {
  const items = list.items.map((item, index) => (
    <li key={index} className={item.task ? "md-task" : undefined}>
      {item.task && <Checkbox isChecked={item.checked ?? false} />}
      <Blocks tokens={item.tokens} isOpen={isOpen && index === list.items.length - 1} />
    </li>
  ));
  if (!list.ordered) return <ul>{items}</ul>;
  return <ol start={list.start === "" ? undefined : list.start}>{items}</ol>;
}

function Checkbox({ isChecked }: { readonly isChecked: boolean }) {
  const { t } = useTranslation();
  const label = isChecked ? t("code.taskDone") : t("code.taskOpen");
  return <input type="checkbox" checked={isChecked} disabled readOnly aria-label={label} />;
}
