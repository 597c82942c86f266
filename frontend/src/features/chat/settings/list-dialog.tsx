import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/shared/ui/button";
import { Dialog } from "@/shared/ui/dialog";

type ListDialogProps = {
  readonly title: string;
  readonly help: string;
  /** What went wrong. */
  readonly problem?: ReactNode;
  /** Why there is nothing in the list, or not yet. */
  readonly note: string | null;
  readonly onClose: () => void;
  /** The items, each an `li`. */
  readonly children: ReactNode;
};

/** A list of what holds for a conversation, and what it is about. */
export function ListDialog({ title, help, problem, note, onClose, children }: ListDialogProps) {
  const { t } = useTranslation();
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="-mt-3 text-sm text-ink-soft">{help}</p>
      {problem}
      <div>
        <div aria-live="polite">{note !== null && <p className="text-sm text-ink-faint">{note}</p>}</div>
        <ul className="max-h-[50vh] divide-y divide-line overflow-auto">{children}</ul>
      </div>
      <div className="flex justify-end">
        <Button onClick={onClose}>{t("shortcuts.close")}</Button>
      </div>
    </Dialog>
  );
}
