import { useEffect, useRef, type ReactNode } from "react";

import { cn } from "@/shared/lib/class-names";

type ModalProps = {
  readonly labelledBy: string;
  readonly onClose: () => void;
  readonly className?: string;
  readonly children: ReactNode;
};

/** The browser's own modal dialog: it traps the focus, closes on Escape and gives the focus back. */
export function Modal({ labelledBy, onClose, className, children }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // A click on the backdrop is a second way to close; Escape is the one for the keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/click-events-have-key-events
    <dialog
      ref={ref}
      aria-labelledby={labelledBy}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
      className={cn("backdrop:bg-black/40", className)}
    >
      {children}
    </dialog>
  );
}
