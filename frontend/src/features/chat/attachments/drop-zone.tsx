import { Paperclip } from "lucide-react";
import { useEffect, useRef, useState, type DragEvent, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { addFiles } from "@/features/chat/attachments/uploads";

const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes("Files");

type DropZoneProps = { readonly sessionId: string | null; readonly children: ReactNode };

/** Takes files that are dropped anywhere on the conversation. */
export function DropZone({ sessionId, children }: DropZoneProps) {
  const { t } = useTranslation();
  const [isOver, setIsOver] = useState(false);
  // Entering a child comes before leaving its parent, so the depth is what tells whether the pointer has left.
  const depth = useRef(0);
  const leave = () => {
    depth.current = 0;
    setIsOver(false);
  };

  // A file that misses the conversation must not make the browser leave the page.
  useEffect(() => {
    const keepPage = (event: Event) => event.preventDefault();
    addEventListener("dragover", keepPage);
    addEventListener("drop", keepPage);
    return () => {
      removeEventListener("dragover", keepPage);
      removeEventListener("drop", keepPage);
    };
  }, []);

  return (
    // For those who drag; the attach button does the same for everybody.
    <div
      role="presentation"
      className="relative flex min-h-0 flex-1 flex-col"
      onDragEnter={(event) => {
        if (!hasFiles(event)) return;
        depth.current += 1;
        setIsOver(true);
      }}
      onDragLeave={(event) => {
        if (!hasFiles(event)) return;
        depth.current -= 1;
        if (depth.current <= 0) leave();
      }}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        leave();
        addFiles(sessionId, [...event.dataTransfer.files]);
      }}
    >
      {children}
      {isOver && (
        <div className="pointer-events-none absolute inset-2 z-20 grid place-items-center rounded-2xl border-2 border-dashed border-accent bg-accent-wash/90 text-accent">
          <p className="flex items-center gap-2 font-medium">
            <Paperclip size={18} aria-hidden />
            {t("attachment.drop")}
          </p>
        </div>
      )}
    </div>
  );
}
