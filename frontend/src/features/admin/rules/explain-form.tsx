import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Choice } from "@/features/admin/rules/choice";
import { explainCommand, type Explanation, type Role } from "@/shared/api/admin";
import { useSubmit } from "@/shared/hooks/use-submit";
import { formText } from "@/shared/lib/form-text";
import { Button } from "@/shared/ui/button";
import { ErrorText } from "@/shared/ui/error-text";
import { TextField } from "@/shared/ui/text-field";

const roles: readonly Role[] = ["user", "operator", "admin"];

/** Says what the gate would make of a command, by which rule; nothing runs. */
export function ExplainForm() {
  const { t } = useTranslation();
  const [role, setRole] = useState<Role>("user");
  const [found, setFound] = useState<Explanation | null>(null);

  const { error, onSubmit } = useSubmit(async (form) => {
    setFound(null);
    setFound(await explainCommand(formText(form, "explained-command"), role));
  });

  return (
    <form aria-label={t("admin.rules.try")} className="space-y-3" onSubmit={onSubmit}>
      <h2 className="font-semibold">{t("admin.rules.try")}</h2>
      <div className="flex flex-wrap items-end gap-3">
        <div className="min-w-0 flex-1">
          <TextField id="explained-command" label={t("admin.rules.command")} autoComplete="off" required />
        </div>
        <Choice
          label={t("admin.rules.role")}
          value={role}
          options={roles}
          toText={(option) => t(`admin.roles.${option}`)}
          onChange={setRole}
        />
        <Button type="submit" className="h-11">
          {t("admin.rules.explain")}
        </Button>
      </div>
      <ErrorText text={error} />
      <div aria-live="polite" className="text-sm">
        {found && (
          <p>
            {t(
              `admin.rules.outcome.${found.decision === "allow" && !found.granted ? "mode" : found.decision}`,
            )}{" "}
            {found.rule !== null && <code>{found.rule}</code>} {found.reason}
          </p>
        )}
      </div>
    </form>
  );
}
