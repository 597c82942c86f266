import { useTranslation } from "react-i18next";

import { languageOfFile } from "@/features/chat/markdown/languages";
import { DiffView } from "@/features/chat/tools/diff-view";
import { LongText } from "@/features/chat/tools/long-text";
import { ResultFiles, toFiles } from "@/features/chat/tools/result-files";
import { toResultText } from "@/features/chat/tools/tool-summary";
import { WholeResult } from "@/features/chat/tools/whole-result";
import type { JsonObject, ToolItem, ToolResultContent } from "@/shared/tape/transcript";

const text = (value: unknown) => (typeof value === "string" ? value : "");

/** The expanded part of a tool card: what went in and what came out. */
export function ToolDetails({ item }: { readonly item: ToolItem }) {
  return (
    <div className="space-y-3 pt-2 pb-1">
      <ToolInput item={item} />
      {item.result && <ToolOutput item={item} content={item.result.content} />}
      {item.state === "stopped" && item.input !== null && <UnknownOutcome />}
    </div>
  );
}

function ToolInput({ item }: { readonly item: ToolItem }) {
  const { t } = useTranslation();
  const { input } = item;
  if (input === null) return <LongText label={t("tool.input")} text={item.inputText} />;
  switch (item.tool) {
    case "Bash":
      return <LongText label={t("tool.command")} text={text(input["command"])} language="bash" />;
    case "Edit":
      return <DiffView before={text(input["old_string"])} after={text(input["new_string"])} />;
    case "MultiEdit":
      return toEdits(input).map(({ before, after }, index) => (
        <DiffView key={index} before={before} after={after} />
      ));
    case "Write":
      return (
        <LongText
          label={t("tool.content")}
          text={text(input["content"])}
          language={languageOfFile(text(input["file_path"]))}
        />
      );
    default:
      return <LongText label={t("tool.input")} text={JSON.stringify(input, null, 2)} language="json" />;
  }
}

function toEdits(input: JsonObject): readonly { readonly before: string; readonly after: string }[] {
  const edits: unknown = input["edits"];
  if (!Array.isArray(edits)) return [];
  return edits.map((edit: unknown) => {
    const fields = (edit ?? {}) as JsonObject;
    return { before: text(fields["old_string"]), after: text(fields["new_string"]) };
  });
}

/** The process that ran it is gone: nobody knows how far it came. */
function UnknownOutcome() {
  const { t } = useTranslation();
  return <p className="text-xs text-ink-faint">{t("tool.unknownOutcome")}</p>;
}

function ToolOutput({ item, content }: { readonly item: ToolItem; readonly content: ToolResultContent }) {
  const { t } = useTranslation();
  const output = toResultText(content);
  const hasFiles = toFiles(content).length > 0;
  const label = item.tool === "Bash" ? t("tool.output") : t("tool.result");
  return (
    <>
      {output === "" && !hasFiles ? (
        <p className="text-xs text-ink-faint">{t("tool.noOutput")}</p>
      ) : output === "" ? null : (
        <LongText label={label} text={output} isError={item.result?.isError ?? false} />
      )}
      <ResultFiles content={content} />
      {item.result?.isTruncated && <WholeResult seq={item.result.seq} />}
    </>
  );
}
