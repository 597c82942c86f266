import { CircleAlert } from "lucide-react";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";

import { explainRefusal, rewindTo } from "@/features/chat/session-commands";
import { FilesToo } from "@/features/chat/transcript/files-too";
import { Button } from "@/shared/ui/button";
import { Modal } from "@/shared/ui/modal";

type RewindDialogProps = { readonly seq: number; readonly onClose: () => void };

/** Asks before the conversation is taken back. The harmless button comes first. */
export function RewindDialog({ seq, onClose }: RewindDialogProps) {
  const { t } = useTranslation();
  const titleId = useId();
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
    <Modal
      labelledBy={titleId}
      onClose={onClose}
      className="m-auto w-[min(26rem,calc(100vw-2rem))] rounded-2xl border border-line bg-surface p-0 text-ink shadow-raised"
    >
      <div className="space-y-3 p-6">
        <h2 id={titleId} className="text-lg font-semibold">
          {t("rewind.question")}
        </h2>
        <p className="text-ink-soft">{t("rewind.explanation")}</p>
        <FilesToo isOn={hasFiles} onChange={setHasFiles} />
        {error !== null && (
          <p role="alert" className="flex items-center gap-1.5 text-sm text-red">
            <CircleAlert size={14} aria-hidden className="shrink-0" />
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2 pt-3">
          <Button onClick={onClose}>{t("rewind.cancel")}</Button>
          <Button look="danger" disabled={isBusy} onClick={() => void rewind()}>
            {isBusy ? t("rewind.saving") : t("rewind.confirm")}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
