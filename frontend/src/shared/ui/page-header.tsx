import type { ReactNode } from "react";

type PageHeaderProps = {
  readonly title: string;
  /** What opens the session list on narrow screens. */
  readonly start: ReactNode;
};

/** The bar above a page that is no conversation. */
export function PageHeader({ title, start }: PageHeaderProps) {
  return (
    <header className="flex h-14 shrink-0 items-center gap-2 border-b border-line px-3 sm:px-5">
      {start}
      <h1 className="min-w-0 flex-1 truncate font-semibold tracking-[-0.01em]">{title}</h1>
    </header>
  );
}
