import { Download } from "lucide-react";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";

import { ResultFiles } from "@/features/chat/tools/result-files";
import { toChunks } from "@/features/chat/tools/text-chunks";
import { toResultText } from "@/features/chat/tools/tool-summary";
import { fetchEvent } from "@/shared/api/rest";
import { formatBytes } from "@/shared/lib/format";
import { saveBlob } from "@/shared/lib/save-blob";
import { useAppStore } from "@/shared/store/app-store";
import type { ToolResultContent } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";
import { CopyButton } from "@/shared/ui/copy-button";

/** Fetches the whole of a result of which the tape that we got has only the beginning. */
export function WholeResult({ seq }: { readonly seq: number }) {
  const { t } = useTranslation();
  const sessionId = useAppStore((state) => state.sessionId);
  const [content, setContent] = useState<ToolResultContent | null>(null);
  const [isLoading, setIsLoading] = useState(false);
  const load = async () => {
    if (sessionId === null) return;
    setIsLoading(true);
    try {
      const event = await fetchEvent(sessionId, seq);
      if (event.type === "tool_result") setContent(event.content);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      useAppStore.getState().notify(t("tool.wholeFailed", { message }));
    }
    setIsLoading(false);
  };
  if (content !== null) {
    const text = toResultText(content);
    return (
      <>
        {text !== "" && <WholeText text={text} />}
        <ResultFiles content={content} />
      </>
    );
  }
  return (
    <div className="flex flex-wrap items-center gap-3 text-xs text-ink-faint">
      <span>{t("tool.truncated")}</span>
      <Button size="small" disabled={isLoading} onClick={() => void load()}>
        {isLoading ? t("tool.wholeLoading") : t("tool.showWhole")}
      </Button>
    </div>
  );
}

/** A text of any length: the browser lays out only the chunks that are in view. */
function WholeText({ text }: { readonly text: string }) {
  const { t } = useTranslation();
  const chunks = useMemo(() => toChunks(text), [text]);
  const size = useMemo(() => new Blob([text]).size, [text]);
  return (
    <div
      role="group"
      aria-label={t("tool.whole")}
      className="overflow-hidden rounded-xl border border-line bg-sunken"
    >
      <header className="flex items-center gap-1 pt-1 pr-1.5 pl-3.5 text-xs text-ink-faint">
        <span className="flex-1">
          {t("tool.whole")} · {formatBytes(size)}
        </span>
        <CopyButton text={text} label={t("code.copy")} />
        <Button
          size="small"
          look="quiet"
          className="h-7 px-2 text-xs"
          onClick={() => saveBlob(new Blob([text], { type: "text/plain" }), t("tool.wholeFile"))}
        >
          <Download size={13} aria-hidden />
          {t("tool.download")}
        </Button>
      </header>
      <div
        role="region"
        aria-label={t("tool.whole")}
        // A region that scrolls must be reachable with the keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        className="max-h-[70dvh] overflow-auto px-3.5 pt-0.5 pb-3 font-mono text-[0.8125rem] leading-[1.55] break-words whitespace-pre-wrap"
      >
        {chunks.map(({ text: chunk, lines }, index) => (
          <div
            key={index}
            style={{ containIntrinsicHeight: `auto ${Math.round(lines * 1.26 * 16)}px` }}
            className="[content-visibility:auto]"
          >
            {chunk}
          </div>
        ))}
      </div>
    </div>
  );
}
