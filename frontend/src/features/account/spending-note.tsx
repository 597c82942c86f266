import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { fetchOwnSpending, type Spending } from "@/shared/api/admin";
import { formatCost } from "@/shared/lib/format";
import { useAppStore } from "@/shared/store/app-store";

/** What one's sessions have spent lately, and what they may. */
export function SpendingNote() {
  const { t } = useTranslation();
  const notify = useAppStore((state) => state.notify);
  const [spending, setSpending] = useState<Spending>();
  useEffect(() => {
    fetchOwnSpending().then(setSpending, (error: unknown) =>
      notify(error instanceof Error ? error.message : String(error)),
    );
  }, [notify]);
  if (!spending) {
    return null;
  }
  const values = { hours: spending.hours, spent: formatCost(spending.spent_usd) };
  return (
    <p className="text-ink-soft">
      {spending.budget_usd === null
        ? t("account.spent", values)
        : t("account.spentOf", { ...values, budget: formatCost(spending.budget_usd) })}
    </p>
  );
}
