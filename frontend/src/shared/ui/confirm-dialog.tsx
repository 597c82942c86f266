import { useTranslation } from "react-i18next";

import { Button } from "@/shared/ui/button";
import { Dialog } from "@/shared/ui/dialog";

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
  return (
    <Dialog title={title} size="small" onClose={onClose}>
      <p className="-mt-2 break-words text-ink-soft">{text}</p>
      <div className="flex justify-end gap-2 pt-2">
        <Button onClick={onClose}>{t("sessions.cancel")}</Button>
        <Button look="danger" onClick={onConfirm}>
          {confirmLabel}
        </Button>
      </div>
    </Dialog>
  );
}
