import type { UiFile } from "@/shared/api/plugin-ui";

const adopted = new Map<string, { readonly url: string; readonly sheet: CSSStyleSheet }>();

/** The same rules for what is inside of a plugin's elements, and for nothing else. */
export function scoped(plugin: string, css: string): CSSStyleSheet {
  // Parsed by itself first: a brace too many would end the scope.
  const own = new CSSStyleSheet();
  own.replaceSync(css);
  const rules = [...own.cssRules].map(({ cssText }) => cssText).join("\n");
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`@scope ([data-plugin="${plugin}"]) {\n${rules}\n}`);
  return sheet;
}

/**
 * Puts a plugin's style sheet on the page, in place of the one that another version of it had.
 *
 * @throws {TypeError} it cannot be fetched, or is not what the server said it is.
 */
export async function adoptStyle(plugin: string, { url, integrity }: UiFile): Promise<void> {
  // What comes behind the plugin's name and the digest of its files.
  const name = `${plugin} ${url.split("/").slice(6).join("/")}`;
  if (adopted.get(name)?.url === url) return;
  const response = await fetch(url, { integrity });
  if (!response.ok) throw new TypeError("The style sheet cannot be loaded.");
  const sheet = scoped(plugin, await response.text());
  const before = adopted.get(name)?.sheet;
  adopted.set(name, { url, sheet });
  document.adoptedStyleSheets = [...document.adoptedStyleSheets.filter((one) => one !== before), sheet];
}
