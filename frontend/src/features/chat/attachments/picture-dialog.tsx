import { Download, X } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { useTranslation } from "react-i18next";

import { attachmentUrl } from "@/features/chat/attachments/attachment-files";
import type { AttachmentRef } from "@/shared/api/frames.gen";
import { fetchAttachment } from "@/shared/api/rest";
import { saveBlob } from "@/shared/lib/save-blob";
import { IconButton } from "@/shared/ui/icon-button";
import { Modal } from "@/shared/ui/modal";

type PictureDialogProps = {
  readonly sessionId: string;
  readonly attachment: AttachmentRef;
  readonly onClose: () => void;
};

/** One picture, as large as the window has room for. */
export function PictureDialog({ sessionId, attachment, onClose }: PictureDialogProps) {
  const { t } = useTranslation();
  const titleId = useId();
  const [url, setUrl] = useState<string | null>(null);
  const { attachment_id: id, name } = attachment;
  useEffect(() => void attachmentUrl(sessionId, id).then(setUrl, () => undefined), [sessionId, id]);
  const download = () =>
    void fetchAttachment(sessionId, id).then(
      (blob) => saveBlob(blob, name),
      () => undefined,
    );
  return (
    <Modal
      labelledBy={titleId}
      onClose={onClose}
      className="m-auto max-w-[calc(100vw-1.5rem)] rounded-2xl border border-line bg-surface p-0 shadow-raised"
    >
      <header className="flex items-center gap-1 py-1.5 pr-2 pl-4">
        <h2 id={titleId} className="min-w-0 flex-1 truncate text-sm font-medium">
          {name}
        </h2>
        <IconButton label={t("attachment.downloadNamed", { name })} onClick={download}>
          <Download size={16} aria-hidden />
        </IconButton>
        <IconButton label={t("attachment.closePicture")} onClick={onClose}>
          <X size={17} aria-hidden />
        </IconButton>
      </header>
      {url !== null && (
        <img
          src={url}
          alt={name}
          className="max-h-[calc(100dvh-6rem)] max-w-full rounded-b-2xl object-contain"
        />
      )}
    </Modal>
  );
}
