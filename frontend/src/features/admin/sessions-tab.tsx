import { useState } from "react";
import { useTranslation } from "react-i18next";

import { fetchAllSessions, type SessionOverview } from "@/shared/api/admin";
import { usePages } from "@/shared/hooks/use-pages";
import { formatCost, formatTime } from "@/shared/lib/format";
import { sessionPath } from "@/shared/lib/router";
import { Link } from "@/shared/ui/link";
import { SearchField } from "@/shared/ui/search-field";
import { toLook } from "@/shared/ui/session-status";
import { Table } from "@/shared/ui/table";

export function SessionsTab() {
  const { t } = useTranslation();
  const [query, setQuery] = useState("");
  const pages = usePages<SessionOverview>(fetchAllSessions, query);
  return (
    <section aria-label={t("admin.tabs.sessions")} className="space-y-5 py-6">
      <p className="text-sm text-ink-soft">{t("admin.sessions.note")}</p>
      <SearchField label={t("admin.sessions.search")} value={query} onChange={setQuery} />
      <Table
        caption={t("admin.tabs.sessions")}
        headings={[
          t("admin.sessions.title"),
          t("admin.sessions.owner"),
          t("admin.sessions.status"),
          t("admin.sessions.cost"),
          t("admin.sessions.lastActive"),
        ]}
        pages={pages}
        empty={t("admin.sessions.none")}
      >
        {(session) => (
          <tr key={session.id}>
            <th scope="row" className="max-w-64 truncate px-4 py-2.5 font-medium">
              <Link to={sessionPath(session.id)} className="text-accent hover:underline">
                {session.title === "" ? t("sessions.untitled") : session.title}
              </Link>
            </th>
            <td className="px-4 py-2.5">{session.owner_name}</td>
            <td className="px-4 py-2.5 whitespace-nowrap">
              {t(`sessions.status.${toLook(session.status)}`)}
            </td>
            <td className="px-4 py-2.5 tabular-nums">{formatCost(session.cost_usd)}</td>
            <td className="px-4 py-2.5 whitespace-nowrap text-ink-soft">
              {formatTime(session.last_active_at)}
            </td>
          </tr>
        )}
      </Table>
    </section>
  );
}
