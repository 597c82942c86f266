import { Trash2 } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { useTranslation } from "react-i18next";

import { fetchRules, forgetRule, type RuleSummary } from "@/shared/api/rest";
import { Button } from "@/shared/ui/button";
import { IconButton } from "@/shared/ui/icon-button";
import { Modal } from "@/shared/ui/modal";

type RulesDialogProps = { readonly sessionId: string; readonly onClose: () => void };

/** What Claude may do in this conversation without asking, because somebody said so; each can be taken back. */
export function RulesDialog({ sessionId, onClose }: RulesDialogProps) {
  const { t } = useTranslation();
  const [rules, setRules] = useState<readonly RuleSummary[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const id = useId();

  useEffect(() => {
    let isCurrent = true;
    fetchRules(sessionId).then(
      ({ items }) => isCurrent && setRules(items),
      (error: unknown) => isCurrent && setProblem(error instanceof Error ? error.message : String(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [sessionId]);

  const forget = async (ruleId: string) => {
    setProblem(null);
    try {
      await forgetRule(sessionId, ruleId);
      setRules((earlier) => earlier?.filter((rule) => rule.id !== ruleId) ?? null);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };

  return (
    <Modal
      labelledBy={id}
      onClose={onClose}
      className="m-auto w-[min(34rem,calc(100vw-2rem))] rounded-2xl border border-line bg-surface p-0 text-ink shadow-raised"
    >
      <div className="p-6">
        <h2 id={id} className="text-lg font-semibold">
          {t("rules.title")}
        </h2>
        <p className="pt-1 pb-3 text-sm text-ink-soft">{t("rules.help")}</p>
        {problem !== null && (
          <p role="alert" className="pb-3 text-sm text-red">
            {t("rules.failed", { message: problem })}
          </p>
        )}
        <div aria-live="polite">
          {rules === null && problem === null && <p className="text-sm text-ink-faint">{t("app.loading")}</p>}
          {rules?.length === 0 && <p className="text-sm text-ink-faint">{t("rules.empty")}</p>}
        </div>
        <ul className="max-h-[50vh] divide-y divide-line overflow-auto">
          {rules?.map((rule) => (
            <li key={rule.id} className="flex items-center gap-3 py-2.5 text-sm">
              <span className="min-w-0 flex-1">
                <span className="block break-words">{rule.reason}</span>
                <span className="text-xs text-ink-faint">
                  {t(rule.scope === "session" ? "rules.session" : "rules.always")}
                </span>
              </span>
              <IconButton
                label={t("rules.remove", { rule: rule.reason })}
                onClick={() => void forget(rule.id)}
              >
                <Trash2 size={15} aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
        <div className="flex justify-end pt-4">
          <Button onClick={onClose}>{t("shortcuts.close")}</Button>
        </div>
      </div>
    </Modal>
  );
}
