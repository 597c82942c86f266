import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import type { Pages } from "@/shared/hooks/use-pages";
import { Button } from "@/shared/ui/button";

type TableProps<T> = {
  readonly caption: string;
  readonly headings: readonly string[];
  readonly pages: Pages<T>;
  readonly empty: string;
  /** One `tr` with a `key`. */
  readonly children: (item: T) => ReactNode;
};

/** A list of many columns, with what is said when there is nothing, when it failed, and when there is more. */
export function Table<T>({ caption, headings, pages, empty, children }: TableProps<T>) {
  const { t } = useTranslation();
  const { items, hasMore, hasFailed, loadMore, reload } = pages;
  return (
    <div className="space-y-3">
      {hasFailed && (
        <p role="alert" className="flex items-center gap-3 text-sm text-red">
          {t("list.failed")}
          <Button size="small" onClick={reload}>
            {t("app.tryAgain")}
          </Button>
        </p>
      )}
      {items?.length === 0 && <p className="text-ink-soft">{empty}</p>}
      {items !== null && items.length > 0 && (
        <div className="relative overflow-x-auto rounded-xl border border-line bg-surface">
          <table className="w-full text-left text-sm">
            <caption className="sr-only">{caption}</caption>
            <thead className="border-b border-line text-xs text-ink-faint">
              <tr>
                {headings.map((heading) => (
                  <th key={heading} scope="col" className="px-4 py-2.5 font-medium whitespace-nowrap">
                    {heading}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody className="divide-y divide-line">{items.map(children)}</tbody>
          </table>
        </div>
      )}
      {items === null && !hasFailed && <p className="text-sm text-ink-faint">{t("app.loading")}</p>}
      {hasMore && <Button onClick={loadMore}>{t("list.more")}</Button>}
    </div>
  );
}
