import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";

import { fetchCosts, type PageQuery } from "@/shared/api/admin";
import { usePages } from "@/shared/hooks/use-pages";
import { formatCost } from "@/shared/lib/format";
import { Table } from "@/shared/ui/table";

export function CostsTab() {
  const { t } = useTranslation();
  const [totalUsd, setTotalUsd] = useState<number | null>(null);
  const fetchPage = useCallback(async (query: PageQuery) => {
    const page = await fetchCosts(query);
    setTotalUsd(page.total_usd);
    return page;
  }, []);
  const pages = usePages(fetchPage);
  return (
    <section aria-label={t("admin.tabs.costs")} className="space-y-5 py-6">
      {totalUsd !== null && (
        <p className="text-sm text-ink-soft">{t("admin.costs.total", { cost: formatCost(totalUsd) })}</p>
      )}
      <Table
        caption={t("admin.tabs.costs")}
        headings={[t("admin.users.name"), t("admin.costs.cost"), t("admin.costs.sessions")]}
        pages={pages}
        empty={t("admin.costs.none")}
      >
        {(costs) => (
          <tr key={costs.user}>
            <th scope="row" className="px-4 py-2.5 font-medium">
              {costs.username}
            </th>
            <td className="px-4 py-2.5 tabular-nums">{formatCost(costs.cost_usd)}</td>
            <td className="px-4 py-2.5 tabular-nums">{costs.sessions}</td>
          </tr>
        )}
      </Table>
    </section>
  );
}
