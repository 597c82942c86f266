import { Trash2 } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { ListDialog } from "@/features/chat/settings/list-dialog";
import { fetchRules, forgetRule, type RuleSummary } from "@/shared/api/rest";
import { ErrorText } from "@/shared/ui/error-text";
import { IconButton } from "@/shared/ui/icon-button";

type RulesDialogProps = { readonly sessionId: string; readonly onClose: () => void };

/** What Claude may do in this conversation without asking, because somebody said so; each can be taken back. */
export function RulesDialog({ sessionId, onClose }: RulesDialogProps) {
  const { t } = useTranslation();
  const [rules, setRules] = useState<readonly RuleSummary[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);

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
    <ListDialog
      title={t("rules.title")}
      help={t("rules.help")}
      problem={problem !== null && <ErrorText text={t("rules.failed", { message: problem })} />}
      note={
        rules?.length === 0 ? t("rules.empty") : rules === null && problem === null ? t("app.loading") : null
      }
      onClose={onClose}
    >
      {rules?.map((rule) => (
        <li key={rule.id} className="flex items-center gap-3 py-2.5 text-sm">
          <span className="min-w-0 flex-1">
            <span className="block break-words">{rule.reason}</span>
            <span className="text-xs text-ink-faint">
              {t(rule.scope === "session" ? "rules.session" : "rules.always")}
            </span>
          </span>
          <IconButton label={t("rules.remove", { rule: rule.reason })} onClick={() => void forget(rule.id)}>
            <Trash2 size={15} aria-hidden />
          </IconButton>
        </li>
      ))}
    </ListDialog>
  );
}
