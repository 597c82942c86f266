import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { AddRuleForm } from "@/features/admin/rules/add-rule-form";
import { ExplainForm } from "@/features/admin/rules/explain-form";
import { fitsOf, forWhom, rulesOfFiles } from "@/features/admin/rules/rule-words";
import { fetchPolicy, removeRule, type Policy, type Rule } from "@/shared/api/admin";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";
import { Table } from "@/shared/ui/table";

/** The rules of the permission gate: those made here, those of files, and what they make of a command. */
export function RulesTab() {
  const { t } = useTranslation();
  const notify = useAppStore((state) => state.notify);
  const { policy, hasFailed, reload } = usePolicy();
  const remove = (rule: Rule) =>
    removeRule(rule.id)
      .catch((error: unknown) => notify(error instanceof Error ? error.message : String(error)))
      .finally(reload);
  const onePage = { items: policy?.rules ?? null, hasMore: false, hasFailed, loadMore: reload, reload };
  return (
    <section aria-label={t("admin.tabs.rules")} className="space-y-6 py-6">
      <p className="text-sm text-ink-soft">{t("admin.rules.intro")}</p>
      <AddRuleForm onAdded={reload} />
      <Table
        caption={t("admin.tabs.rules")}
        headings={[
          t("admin.rules.rule"),
          t("admin.rules.for"),
          t("admin.rules.decision"),
          t("admin.rules.fits"),
          t("admin.rules.actions"),
        ]}
        pages={onePage}
        empty={t("admin.rules.none")}
      >
        {(rule) => (
          <tr key={rule.id} className="align-top">
            <th scope="row" className="px-4 py-2.5 font-medium">
              {rule.reason}
              <code className="block text-xs font-normal text-ink-faint">{rule.id}</code>
            </th>
            <td className="px-4 py-2.5 whitespace-nowrap">{forWhom(rule)}</td>
            <td className="px-4 py-2.5 whitespace-nowrap">{t(`admin.rules.decisions.${rule.decision}`)}</td>
            <td className="px-4 py-2.5 font-mono text-xs break-all">{fitsOf(rule)}</td>
            <td className="px-4 py-2.5">
              <Button
                size="small"
                look="danger"
                aria-label={t("admin.rules.removeNamed", { reason: rule.reason })}
                onClick={() => void remove(rule)}
              >
                {t("admin.rules.remove")}
              </Button>
            </td>
          </tr>
        )}
      </Table>
      <ExplainForm />
      {policy && (
        <details>
          <summary className="cursor-pointer text-sm font-medium">{t("admin.rules.ofFiles")}</summary>
          <ul className="mt-2 divide-y divide-line text-sm">
            {rulesOfFiles(policy).map((rule) => (
              <li key={rule.id} className="py-2">
                <code>{rule.id}</code> · {t(`admin.rules.decisions.${rule.decision}`)}
                <span className="block text-ink-soft">{rule.reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function usePolicy() {
  const [policy, setPolicy] = useState<Policy | null>(null);
  const [hasFailed, setHasFailed] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    fetchPolicy().then(
      (found) => {
        if (!isCurrent) return;
        setPolicy(found);
        setHasFailed(false);
      },
      () => isCurrent && setHasFailed(true),
    );
    return () => {
      isCurrent = false;
    };
  }, [round]);
  return { policy, hasFailed, reload: () => setRound((before) => before + 1) };
}
