import { useId, type ReactNode } from "react";

import { cn } from "@/shared/lib/class-names";
import { Modal } from "@/shared/ui/modal";

const widths = {
  small: "w-[min(26rem,calc(100vw-2rem))]",
  medium: "w-[min(34rem,calc(100vw-2rem))]",
} as const;

type DialogProps = {
  readonly title: string;
  readonly size?: keyof typeof widths;
  readonly onClose: () => void;
  readonly children: ReactNode;
};

/** A dialog with a title, as high as the window at most: what does not fit scrolls. */
export function Dialog({ title, size = "medium", onClose, children }: DialogProps) {
  const id = useId();
  return (
    <Modal
      labelledBy={id}
      onClose={onClose}
      className={cn(
        "m-auto max-h-[calc(100dvh-2rem)] rounded-2xl border border-line bg-surface p-0 text-ink shadow-raised",
        widths[size],
      )}
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
