import { ChevronRight, Undo2 } from "lucide-react";
import { useState, type ReactNode } from "react";

type FoldProps = { readonly summary: string; readonly children: ReactNode };

/** What no longer stands: one line in its place, to be unfolded and read, dimmed. */
export function Fold({ summary, children }: FoldProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="group/fold" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary className="flex h-8 list-none items-center gap-2.5 rounded-lg text-xs text-ink-faint transition-colors hover:text-ink">
        <span aria-hidden className="min-w-6 flex-1 border-t border-dashed border-line-strong" />
        <Undo2 size={13} aria-hidden className="shrink-0" />
        <span>{summary}</span>
        <ChevronRight
          size={13}
          aria-hidden
          className="shrink-0 transition-transform group-open/fold:rotate-90"
        />
        <span aria-hidden className="min-w-6 flex-1 border-t border-dashed border-line-strong" />
      </summary>
      {isOpen && <div className="space-y-9 pt-5 text-ink-faint saturate-50">{children}</div>}
    </details>
  );
}
