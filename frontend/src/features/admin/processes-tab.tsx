import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";

import { fetchProcesses, type ProcessList } from "@/shared/api/admin";
import { usePages } from "@/shared/hooks/use-pages";
import { formatBytes, formatDuration } from "@/shared/lib/format";
import { sessionPath } from "@/shared/lib/router";
import { Button } from "@/shared/ui/button";
import { Link } from "@/shared/ui/link";
import { toLook } from "@/shared/ui/session-status";
import { Table } from "@/shared/ui/table";

export function ProcessesTab() {
  const { t } = useTranslation();
  const [found, setFound] = useState<ProcessList | null>(null);
  const fetchAll = useCallback(async () => {
    const list = await fetchProcesses();
    setFound(list);
    return { items: list.items, next_cursor: null };
  }, []);
  const pages = usePages(fetchAll);
  return (
    <section aria-label={t("admin.tabs.processes")} className="space-y-5 py-6">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="text-sm text-ink-soft">
          {found &&
            t("admin.processes.summary", {
              held: found.items.length,
              limit: found.limit,
              pooled: found.pooled,
            })}
        </p>
        <Button size="small" onClick={pages.reload}>
          {t("admin.processes.reload")}
        </Button>
      </div>
      <Table
        caption={t("admin.tabs.processes")}
        headings={[
          t("admin.processes.session"),
          t("admin.sessions.owner"),
          t("admin.sessions.status"),
          t("admin.processes.memory"),
          t("admin.processes.age"),
          t("admin.processes.pid"),
        ]}
        pages={pages}
        empty={t("admin.processes.none")}
      >
        {(process) => (
          <tr key={process.session_id}>
            <th scope="row" className="max-w-64 truncate px-4 py-2.5 font-medium">
              <Link to={sessionPath(process.session_id)} className="text-accent hover:underline">
                {process.title === "" ? t("sessions.untitled") : process.title}
              </Link>
            </th>
            <td className="px-4 py-2.5">{process.owner_name}</td>
            <td className="px-4 py-2.5 whitespace-nowrap">
              {t(`sessions.status.${toLook(process.status)}`)}
            </td>
            <td className="px-4 py-2.5 whitespace-nowrap tabular-nums">{formatBytes(process.rss_bytes)}</td>
            <td className="px-4 py-2.5 whitespace-nowrap tabular-nums">
              {formatDuration(process.age_seconds * 1000)}
            </td>
            <td className="px-4 py-2.5 tabular-nums">{process.pid}</td>
          </tr>
        )}
      </Table>
    </section>
  );
}
