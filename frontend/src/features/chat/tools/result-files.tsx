import { Download } from "lucide-react";
import { useTranslation } from "react-i18next";

import { saveBlob } from "@/shared/lib/save-blob";
import type { JsonObject, ToolResultContent } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

// What a browser draws without running anything.
const drawable = /^image\/(png|jpeg|gif|webp)$/;

type ResultFile = { readonly type: string; readonly data: string | null };

function toFile(block: JsonObject): readonly ResultFile[] {
  const source = block["source"] as JsonObject | undefined;
  if (block["type"] !== "image" && block["type"] !== "document") return [];
  const { media_type: type, data } = source ?? {};
  return [{ type: typeof type === "string" ? type : "", data: typeof data === "string" ? data : null }];
}

export function toFiles(content: ToolResultContent): readonly ResultFile[] {
  return typeof content === "string" ? [] : content.flatMap(toFile);
}

/** Pictures and documents that a tool answered with. */
export function ResultFiles({ content }: { readonly content: ToolResultContent }) {
  return toFiles(content).map((file, index) => <File key={index} file={file} />);
}

function File({ file: { type, data } }: { readonly file: ResultFile }) {
  const { t } = useTranslation();
  if (data === null) return <p className="text-xs text-ink-faint">{t("tool.image", { type })}</p>;
  if (drawable.test(type)) {
    return (
      <img
        src={`data:${type};base64,${data}`}
        alt={t("tool.image", { type })}
        className="max-h-96 max-w-full rounded-xl border border-line object-contain"
      />
    );
  }
  const save = () => {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    saveBlob(new Blob([bytes], { type }), `result.${type.split("/").at(-1) ?? "bin"}`);
  };
  return (
    <p className="flex items-center gap-3 text-xs text-ink-faint">
      {t("tool.file", { type })}
      <Button size="small" onClick={save}>
        <Download size={13} aria-hidden />
        {t("tool.download")}
      </Button>
    </p>
  );
}
