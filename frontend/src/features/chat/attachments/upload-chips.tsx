import { CircleAlert, File, RotateCw, X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { AttachmentImage } from "@/features/chat/attachments/attachment-image";
import { removeUpload, retryUpload } from "@/features/chat/attachments/uploads";
import { cn } from "@/shared/lib/class-names";
import { formatBytes } from "@/shared/lib/format";
import type { Upload } from "@/shared/store/composer-draft";
import { draftKey } from "@/shared/store/drafts-slice";
import { IconButton } from "@/shared/ui/icon-button";

type UploadChipsProps = {
  readonly sessionId: string | null;
  readonly uploads: readonly Upload[];
  readonly isDisabled: boolean;
};

/** The files that go with the message that is being written. */
export function UploadChips({ sessionId, uploads, isDisabled }: UploadChipsProps) {
  const { t } = useTranslation();
  if (uploads.length === 0) return null;
  return (
    <ul aria-label={t("attachment.list")} className="flex max-h-40 flex-wrap gap-2 overflow-y-auto px-3 pt-3">
      {uploads.map((upload) => (
        <Chip key={upload.id} sessionId={sessionId} upload={upload} isDisabled={isDisabled} />
      ))}
    </ul>
  );
}

type ChipProps = Omit<UploadChipsProps, "uploads"> & { readonly upload: Upload };

function Chip({ sessionId, upload, isDisabled }: ChipProps) {
  const { t } = useTranslation();
  const { name, state, progress } = upload;
  const hasFailed = state === "failed";
  return (
    <li
      data-state={state}
      className={cn(
        "relative flex max-w-full min-w-0 items-center gap-2.5 overflow-hidden rounded-xl border py-1.5 pr-1.5 pl-2",
        hasFailed ? "border-red-line bg-red-wash" : "border-line bg-canvas",
      )}
    >
      <Preview sessionId={sessionId} upload={upload} />
      <span className="min-w-0">
        <span className="block max-w-44 truncate text-[0.8125rem] leading-tight font-medium" title={name}>
          {name}
        </span>
        <span
          role={hasFailed ? "alert" : undefined}
          className={cn("block text-xs leading-snug", hasFailed ? "max-w-64 text-red" : "text-ink-faint")}
        >
          <Detail upload={upload} />
        </span>
      </span>
      <span className="flex shrink-0">
        {hasFailed && (
          <IconButton
            className="size-7"
            label={t("attachment.retryNamed", { name })}
            onClick={() => retryUpload(sessionId, upload)}
          >
            <RotateCw size={13} aria-hidden />
          </IconButton>
        )}
        <IconButton
          className="size-7"
          label={t("attachment.removeNamed", { name })}
          disabled={isDisabled}
          onClick={() => removeUpload(draftKey(sessionId), upload)}
        >
          <X size={14} aria-hidden />
        </IconButton>
      </span>
      {state === "uploading" && (
        <progress
          aria-label={t("attachment.uploadingNamed", { name })}
          value={progress}
          className="absolute inset-x-0 bottom-0 h-[3px] w-full appearance-none [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-line [&::-webkit-progress-value]:bg-accent"
        />
      )}
    </li>
  );
}

const previewBox = "size-9 shrink-0 rounded-lg";

function Preview({ sessionId, upload }: { readonly sessionId: string | null; readonly upload: Upload }) {
  if (upload.state === "failed")
    return <CircleAlert size={18} aria-hidden className="mx-1 shrink-0 text-red" />;
  if (upload.previewUrl !== null)
    return (
      <img src={upload.previewUrl} alt={upload.name} aria-hidden className={cn(previewBox, "object-cover")} />
    );
  if (sessionId !== null && upload.attachment && upload.mediaType.startsWith("image/")) {
    return (
      <AttachmentImage
        sessionId={sessionId}
        attachment={upload.attachment}
        isDecorative
        className={previewBox}
      />
    );
  }
  return (
    <span className={cn(previewBox, "grid place-items-center bg-sunken text-ink-faint")}>
      <File size={16} aria-hidden />
    </span>
  );
}

function Detail({ upload }: { readonly upload: Upload }) {
  const { t } = useTranslation();
  switch (upload.state) {
    case "failed":
      return upload.error;
    case "uploading":
      return t("attachment.progress", { percent: Math.floor(upload.progress * 100) });
    default:
      return formatBytes(upload.sizeBytes);
  }
}
