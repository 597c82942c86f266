import { Download, File } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { AttachmentImage } from "@/features/chat/attachments/attachment-image";
import { PictureDialog } from "@/features/chat/attachments/picture-dialog";
import type { AttachmentRef } from "@/shared/api/frames.gen";
import { fetchAttachment } from "@/shared/api/rest";
import { formatBytes } from "@/shared/lib/format";
import { saveBlob } from "@/shared/lib/save-blob";
import { useAppStore } from "@/shared/store/app-store";

const isPicture = ({ media_type }: AttachmentRef) => /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(media_type);

/** The files of a message: pictures to look at, everything else to download. */
export function AttachmentList({ attachments }: { readonly attachments: readonly AttachmentRef[] }) {
  const { t } = useTranslation();
  const sessionId = useAppStore((state) => state.sessionId);
  const [shown, setShown] = useState<AttachmentRef | null>(null);
  if (attachments.length === 0 || sessionId === null) return null;
  return (
    <>
      <ul
        aria-label={t("attachment.list")}
        className="flex max-w-[85%] flex-wrap items-end justify-end gap-2"
      >
        {attachments.map((attachment) => (
          <li key={attachment.attachment_id} className="min-w-0">
            {isPicture(attachment) ? (
              <button
                type="button"
                aria-label={t("attachment.showNamed", { name: attachment.name })}
                title={attachment.name}
                onClick={() => setShown(attachment)}
                className="block overflow-hidden rounded-xl border border-line transition-opacity hover:opacity-90"
              >
                <AttachmentImage
                  sessionId={sessionId}
                  attachment={attachment}
                  isDecorative
                  className="size-28 sm:size-36"
                />
              </button>
            ) : (
              <FileChip sessionId={sessionId} attachment={attachment} />
            )}
          </li>
        ))}
      </ul>
      {shown && <PictureDialog sessionId={sessionId} attachment={shown} onClose={() => setShown(null)} />}
    </>
  );
}

type FileChipProps = { readonly sessionId: string; readonly attachment: AttachmentRef };

function FileChip({ sessionId, attachment }: FileChipProps) {
  const { t } = useTranslation();
  const { attachment_id: id, name, size_bytes: size } = attachment;
  const download = () => {
    fetchAttachment(sessionId, id).then(
      (blob) => saveBlob(blob, name),
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        useAppStore.getState().notify(t("attachment.downloadFailed", { name, message }));
      },
    );
  };
  return (
    <button
      type="button"
      aria-label={t("attachment.downloadNamed", { name })}
      onClick={download}
      className="group flex max-w-full items-center gap-2.5 rounded-xl border border-line bg-surface py-1.5 pr-3 pl-2 text-left transition-colors hover:border-line-strong"
    >
      <span className="grid size-9 shrink-0 place-items-center rounded-lg bg-sunken text-ink-faint">
        <File size={16} aria-hidden className="group-hover:hidden" />
        <Download size={16} aria-hidden className="hidden group-hover:block" />
      </span>
      <span className="min-w-0">
        <span className="block max-w-52 truncate text-[0.8125rem] leading-tight font-medium">{name}</span>
        <span className="block text-xs leading-snug text-ink-faint">{formatBytes(size)}</span>
      </span>
    </button>
  );
}
