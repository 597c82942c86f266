import { useId } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/shared/ui/button";
import { Modal } from "@/shared/ui/modal";

type ConfirmDialogProps = {
  readonly title: string;
  readonly text: string;
  readonly confirmLabel: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
};

/** Asks before something that cannot be undone. The harmless button comes first and has the focus. */
export function ConfirmDialog({ title, text, confirmLabel, onConfirm, onClose }: ConfirmDialogProps) {
  const { t } = useTranslation();
  const id = useId();
  return (
    <Modal
      labelledBy={id}
      onClose={onClose}
      className="m-auto w-[min(26rem,calc(100vw-2rem))] rounded-2xl border border-line bg-surface p-0 text-ink shadow-raised"
    >
      <div className="space-y-2 p-6">
        <h2 id={id} className="text-lg font-semibold">
          {title}
        </h2>
        <p className="break-words text-ink-soft">{text}</p>
        <div className="flex justify-end gap-2 pt-4">
          <Button onClick={onClose}>{t("sessions.cancel")}</Button>
          <Button look="danger" onClick={onConfirm}>
            {confirmLabel}
          </Button>
        </div>
      </div>
    </Modal>
  );
}
