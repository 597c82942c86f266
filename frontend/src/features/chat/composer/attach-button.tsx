import { Paperclip } from "lucide-react";
import { useRef } from "react";
import { useTranslation } from "react-i18next";

import { addFiles } from "@/features/chat/attachments/uploads";
import { IconButton } from "@/shared/ui/icon-button";

type AttachButtonProps = { readonly sessionId: string | null; readonly isDisabled: boolean };

export function AttachButton({ sessionId, isDisabled }: AttachButtonProps) {
  const { t } = useTranslation();
  const inputRef = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton
        label={t("attachment.attach")}
        disabled={isDisabled}
        onClick={() => inputRef.current?.click()}
        className="size-9 rounded-full text-ink-soft"
      >
        <Paperclip size={17} aria-hidden />
      </IconButton>
      <input
        ref={inputRef}
        type="file"
        multiple
        hidden
        aria-label={t("attachment.attach")}
        onChange={({ currentTarget }) => {
          addFiles(sessionId, [...(currentTarget.files ?? [])]);
          // The same file may be chosen again after it was removed.
          currentTarget.value = "";
        }}
      />
    </>
  );
}
