import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Choice } from "@/features/admin/rules/choice";
import { addRule } from "@/shared/api/admin";
import { useSubmit } from "@/shared/hooks/use-submit";
import { formText } from "@/shared/lib/form-text";
import { Button } from "@/shared/ui/button";
import { ErrorText } from "@/shared/ui/error-text";
import { TextField } from "@/shared/ui/text-field";

const decisions = ["deny", "ask", "allow"] as const;
const people = ["everyone", "user", "operator", "admin"] as const;
const abouts = ["every", "commands", "paths", "hosts"] as const;

/** Makes a rule for a role or for everyone. What is wrong with it, the server says. */
export function AddRuleForm({ onAdded }: { readonly onAdded: () => void }) {
  const { t } = useTranslation();
  const [decision, setDecision] = useState<(typeof decisions)[number]>("deny");
  const [who, setWho] = useState<(typeof people)[number]>("everyone");
  const [about, setAbout] = useState<(typeof abouts)[number]>("commands");

  const { error, onSubmit } = useSubmit(async (form) => {
    const patterns = about === "every" ? [] : split(formText(form, "rule-patterns"), "\n");
    await addRule({
      ...(who === "everyone" ? { scope: who } : { scope: "role", role: who }),
      decision,
      tools: split(formText(form, "rule-tools"), " "),
      commands: about === "commands" ? patterns : [],
      paths: about === "paths" ? patterns : [],
      hosts: about === "hosts" ? patterns : [],
      reason: formText(form, "rule-reason"),
    });
    form.reset();
    onAdded();
  });

  return (
    <form aria-label={t("admin.rules.add")} className="space-y-3" onSubmit={onSubmit}>
      <div className="flex flex-wrap items-end gap-3">
        <Choice
          label={t("admin.rules.decision")}
          value={decision}
          options={decisions}
          toText={(option) => t(`admin.rules.decisions.${option}`)}
          onChange={setDecision}
        />
        <Choice
          label={t("admin.rules.for")}
          value={who}
          options={people}
          toText={(option) => t(option === "everyone" ? "admin.rules.everyone" : `admin.roles.${option}`)}
          onChange={setWho}
        />
        <div className="w-full max-w-xs">
          <TextField id="rule-tools" label={t("admin.rules.tools")} defaultValue="Bash" required />
        </div>
        <Choice
          label={t("admin.rules.about")}
          value={about}
          options={abouts}
          toText={(option) => t(`admin.rules.abouts.${option}`)}
          onChange={setAbout}
        />
      </div>
      {about !== "every" && (
        <label className="block text-sm font-medium text-ink-soft">
          <span className="mb-1.5 block">{t("admin.rules.patterns")}</span>
          <textarea
            name="rule-patterns"
            required
            rows={2}
            spellCheck={false}
            className="w-full rounded-lg border border-line-strong bg-surface px-3.5 py-2 font-mono text-ink"
          />
        </label>
      )}
      <TextField id="rule-reason" label={t("admin.rules.reason")} required maxLength={500} />
      <Button type="submit" look="primary">
        {t("admin.rules.add")}
      </Button>
      <ErrorText text={error} />
    </form>
  );
}

function split(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter(Boolean);
}
