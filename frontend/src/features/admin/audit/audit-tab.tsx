import { useState } from "react";
import { useTranslation } from "react-i18next";

import { AuditFilters } from "@/features/admin/audit/audit-filters";
import { AuditTable } from "@/features/admin/audit/audit-table";
import { ChainState } from "@/features/admin/audit/chain-state";
import { useAudit } from "@/features/admin/audit/use-audit";
import type { AuditFilter } from "@/shared/api/rest";
import { Button } from "@/shared/ui/button";

const everything: AuditFilter = { actor: "", action: "", since: "", until: "" };

/** Who did what, the state of the chain, and an export of it. */
export function AuditTab() {
  const { t } = useTranslation();
  const [filter, setFilter] = useState(everything);
  const { entries, hasMore, hasFailed, loadMore } = useAudit(filter);
  return (
    <section className="space-y-5 py-6">
      <div>
        <h2 className="font-semibold">{t("admin.audit.title")}</h2>
        <p className="mt-1 text-sm text-ink-soft">{t("admin.audit.intro")}</p>
      </div>
      <ChainState />
      <AuditFilters filter={filter} onChange={setFilter} onClear={() => setFilter(everything)} />
      {hasFailed && (
        <p role="alert" className="text-sm text-red">
          {t("admin.audit.failed")}
        </p>
      )}
      {entries?.length === 0 && <p className="text-sm text-ink-soft">{t("admin.audit.none")}</p>}
      {entries !== null && entries.length > 0 && (
        <AuditTable entries={entries} onActor={(actor) => setFilter({ ...filter, actor })} />
      )}
      {hasMore && <Button onClick={loadMore}>{t("admin.audit.more")}</Button>}
    </section>
  );
}
