import { ImageOff } from "lucide-react";
import type { Token, Tokens } from "marked";
import { useTranslation } from "react-i18next";

import { decodeEntities, toPlace, toSafeHref } from "@/features/chat/markdown/safe-text";

type InlineProps = { readonly tokens: readonly Token[] | undefined };

export function Inline({ tokens }: InlineProps) {
  return tokens?.map((token, index) => <InlineToken key={index} token={token} />);
}

function InlineToken({ token }: { readonly token: Token }) {
  switch (token.type) {
    case "strong":
      return (
        <strong>
          <Inline tokens={(token as Tokens.Strong).tokens} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inline tokens={(token as Tokens.Em).tokens} />
        </em>
      );
    case "del":
      return (
        <del>
          <Inline tokens={(token as Tokens.Del).tokens} />
        </del>
      );
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return <SafeLink link={token as Tokens.Link} />;
    case "image":
      return <ImageLink image={token as Tokens.Image} />;
    case "escape":
      return (token as Tokens.Escape).text;
    case "checkbox":
      return null;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? <Inline tokens={tokens} /> : decodeEntities(text);
    }
    default:
      // HTML among them: shown as it was written.
      return token.raw;
  }
}

function SafeLink({ link }: { readonly link: Tokens.Link }) {
  const href = toSafeHref(link.href);
  const text = <Inline tokens={link.tokens} />;
  if (href === null) return <span title={link.href}>{text}</span>;
  return (
    <ExternalLink href={href} isPlain={link.text === link.href}>
      {text}
    </ExternalLink>
  );
}

type ExternalLinkProps = {
  readonly href: string;
  /** The text is the address itself. */
  readonly isPlain?: boolean;
  readonly children: React.ReactNode;
};

/** A link that says where it leads: its text was written by the agent, or by whoever the agent has read. */
function ExternalLink({ href, isPlain = false, children }: ExternalLinkProps) {
  const { t } = useTranslation();
  const place = toPlace(href);
  return (
    <>
      <a
        href={href}
        target="_blank"
        rel="noopener noreferrer nofollow"
        referrerPolicy="no-referrer"
        title={href}
      >
        {children}
      </a>
      {!isPlain && (
        <span className="md-place" aria-label={t("code.leadsTo", { host: place })}>
          {place}
        </span>
      )}
    </>
  );
}

/** Loading an image tells its server that it was read, and an address can carry out what was said: a link instead. */
function ImageLink({ image }: { readonly image: Tokens.Image }) {
  const { t } = useTranslation();
  const label = image.text ? t("code.image", { alt: image.text }) : t("code.imageUnnamed");
  const href = toSafeHref(image.href);
  const content = (
    <>
      <ImageOff size={14} aria-hidden className="mr-1 inline align-[-2px]" />
      {label}
    </>
  );
  if (href === null) return <span>{content}</span>;
  return <ExternalLink href={href}>{content}</ExternalLink>;
}
