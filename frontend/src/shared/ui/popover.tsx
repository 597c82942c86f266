import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

import { cn } from "@/shared/lib/class-names";

type PopoverProps = {
  /** Name of the panel, and of the button when that shows only an icon. */
  readonly label: string;
  readonly buttonClassName: string;
  readonly button: ReactNode;
  /** Where the panel is, seen from the nearest positioned element around the popover. */
  readonly panelClassName: string;
  readonly children: (close: () => void) => ReactNode;
};

function step(panel: HTMLElement, direction: 1 | -1): void {
  const stops = [...panel.querySelectorAll<HTMLElement>("button, input")];
  const at = stops.findIndex((stop) => stop === document.activeElement);
  stops.at((at + direction + stops.length) % stops.length)?.focus();
}

/**
 * A button that opens a small panel beside it. The panel takes the focus, gives it back, and closes on Escape, on a
 * click elsewhere and when the focus leaves it; the arrow keys go from one thing in it to the next.
 */
export function Popover({ label, button, buttonClassName, panelClassName, children }: PopoverProps) {
  const [isOpen, setIsOpen] = useState(false);
  const id = useId();
  const buttonRef = useRef<HTMLButtonElement>(null);
  const panelRef = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const panel = panelRef.current;
    const opener = buttonRef.current;
    if (!isOpen || !panel) return;
    (panel.querySelector<HTMLElement>("[aria-pressed=true]") ?? panel.querySelector("button"))?.focus();
    const onPointerDown = ({ target }: PointerEvent) => {
      if (!(target instanceof Node)) return;
      if (!panel.contains(target) && !opener?.contains(target)) setIsOpen(false);
    };
    addEventListener("pointerdown", onPointerDown);
    return () => {
      removeEventListener("pointerdown", onPointerDown);
      // The panel took the focus with it, unless that had gone elsewhere before.
      if (document.activeElement === document.body) opener?.focus();
    };
  }, [isOpen]);

  const close = () => setIsOpen(false);

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown") step(event.currentTarget, 1);
    else if (event.key === "ArrowUp") step(event.currentTarget, -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <>
      <button
        ref={buttonRef}
        type="button"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        title={label}
        onClick={() => setIsOpen(!isOpen)}
        className={buttonClassName}
      >
        {button}
      </button>
      {isOpen && (
        // The keys move between its buttons, which are what a keyboard acts on.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
        <div
          ref={panelRef}
          id={id}
          role="dialog"
          aria-label={label}
          onKeyDown={onKeyDown}
          onBlur={({ currentTarget, relatedTarget }) => {
            const isInside = currentTarget.contains(relatedTarget) || relatedTarget === buttonRef.current;
            if (relatedTarget !== null && !isInside) setIsOpen(false);
          }}
          className={cn(
            "absolute z-20 animate-rise rounded-2xl border border-line bg-surface p-1.5 text-ink shadow-raised",
            panelClassName,
          )}
        >
          {children(close)}
        </div>
      )}
    </>
  );
}
