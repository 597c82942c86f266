import { useState } from "react";
import { useTranslation } from "react-i18next";

import { explainRefusal, rewindTo } from "@/features/chat/session-commands";
import { FilesToo } from "@/features/chat/transcript/files-too";
import { Button } from "@/shared/ui/button";
import { Dialog } from "@/shared/ui/dialog";
import { ErrorText } from "@/shared/ui/error-text";

type RewindDialogProps = { readonly seq: number; readonly onClose: () => void };

/** Asks before the conversation is taken back. The harmless button comes first. */
export function RewindDialog({ seq, onClose }: RewindDialogProps) {
  const { t } = useTranslation();
  const [hasFiles, setHasFiles] = useState(true);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const rewind = async () => {
    setIsBusy(true);
    setError(null);
    try {
      await rewindTo(seq, hasFiles);
      onClose();
    } catch (refusal) {
      setError(explainRefusal(refusal));
      setIsBusy(false);
    }
  };
  return (
    <Dialog title={t("rewind.question")} size="small" onClose={onClose}>
      <p className="-mt-2 text-ink-soft">{t("rewind.explanation")}</p>
      <FilesToo isOn={hasFiles} onChange={setHasFiles} />
      <ErrorText text={error} />
      <div className="flex justify-end gap-2 pt-2">
        <Button onClick={onClose}>{t("rewind.cancel")}</Button>
        <Button look="danger" disabled={isBusy} onClick={() => void rewind()}>
          {isBusy ? t("rewind.saving") : t("rewind.confirm")}
        </Button>
      </div>
    </Dialog>
  );
}
