import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore } from "@shikijs/core";
import { createJavaScriptRegexEngine } from "@shikijs/engine-javascript";

import { languageLoaders, toLanguageName } from "@/features/chat/markdown/languages";

export type HighlightedLine = readonly { readonly content: string; readonly color?: string | undefined }[];

let highlighter: Promise<HighlighterCore> | null = null;

function getHighlighter(): Promise<HighlighterCore> {
  highlighter ??= createHighlighterCore({
    // Colours are CSS variables, so both themes share one result.
    themes: [createCssVariablesTheme({ name: "css-variables", variablePrefix: "--code-" })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  return highlighter;
}

/** Coloured lines, or null for a language that is not known. Loads the language when it is first seen. */
export async function highlight(code: string, language: string): Promise<readonly HighlightedLine[] | null> {
  const name = toLanguageName(language);
  const load = languageLoaders[name];
  if (!load) return null;
  const core = await getHighlighter();
  if (!core.getLoadedLanguages().includes(name)) await core.loadLanguage(load);
  return core.codeToTokensBase(code, { lang: name, theme: "css-variables" });
}
