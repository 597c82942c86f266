import { useId, type ReactNode } from "react";

import { Modal } from "@/shared/ui/modal";

type DialogProps = {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
};

/** A dialog with a title, as high as the window at most: what does not fit scrolls. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const id = useId();
  return (
    <Modal
      labelledBy={id}
      onClose={onClose}
      className="m-auto max-h-[calc(100dvh-2rem)] w-[min(36rem,calc(100vw-2rem))] rounded-2xl border border-line bg-surface p-0 text-ink shadow-raised"
    >
      <div className="space-y-4 p-5 sm:p-6">
        <h2 id={id} className="text-lg font-semibold break-words">
          {title}
        </h2>
        {children}
      </div>
    </Modal>
  );
}
