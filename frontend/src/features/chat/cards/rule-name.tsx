import { useTranslation } from "react-i18next";

/** The name of a policy's rule, by which an operator finds it. */
export function RuleName({ rule }: { readonly rule: string }) {
  const { t } = useTranslation();
  return (
    <span className="text-xs text-ink-faint">
      {t("policy.rule")} <code className="font-mono break-all">{rule}</code>
    </span>
  );
}
