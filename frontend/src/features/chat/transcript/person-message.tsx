import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { cn } from "@/shared/lib/class-names";

type PersonMessageProps = {
  readonly text: string;
  /** What is special about it: queued, not sent yet, refused. */
  readonly note?: ReactNode;
  readonly isFaint?: boolean;
};

export function PersonMessage({ text, note, isFaint = false }: PersonMessageProps) {
  const { t } = useTranslation();
  return (
    <div className="flex flex-col items-end gap-1.5">
      <h2 className="sr-only">{t("chat.you")}</h2>
      <div
        className={cn(
          "max-w-[85%] rounded-2xl rounded-br-md bg-person px-4 py-2.5 break-words whitespace-pre-wrap",
          (isFaint || Boolean(note)) && "border border-dashed border-line-strong bg-person/50",
        )}
      >
        {text}
      </div>
      {note && <div className="text-xs text-ink-faint">{note}</div>}
    </div>
  );
}
