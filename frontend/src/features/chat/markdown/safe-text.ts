const safeProtocols = new Set(["http:", "https:", "mailto:"]);

/** The address if a click on it can only open a page or a mail; null for scripts, files and relative paths. */
export function toSafeHref(href: string): string | null {
  try {
    const url = new URL(href);
    return safeProtocols.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** Where a click leads, as far as it matters to whom one trusts: the host, or the address of a mail. */
export function toPlace(href: string): string {
  const url = new URL(href);
  return url.host || url.pathname;
}

const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  hellip: "…",
  ndash: "–",
  mdash: "—",
  rarr: "→",
  larr: "←",
  times: "×",
};

function decode(entity: string, name: string): string {
  if (!name.startsWith("#")) return named[name] ?? entity;
  const isHex = /^#x/i.test(name);
  const code = Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : entity;
}

/** Character references as the characters they stand for. React escapes what it renders, so nothing becomes HTML. */
export function decodeEntities(text: string): string {
  return text.includes("&") ? text.replace(/&(#x?[0-9a-f]+|[a-z]+);/gi, decode) : text;
}
