import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import {
  toDrafts,
  toFieldProblems,
  toFields,
  toValues,
  type Draft,
  type FieldProblems,
} from "@/features/admin/plugins/config-fields";
import { ConfigInput } from "@/features/admin/plugins/config-input";
import { FailureText } from "@/features/admin/plugins/failure-text";
import { ApiError } from "@/shared/api/api-error";
import { savePluginConfig, type PluginConfig } from "@/shared/api/plugins";
import { toError } from "@/shared/lib/to-error";
import { Button } from "@/shared/ui/button";
import { ErrorText } from "@/shared/ui/error-text";

const noProblems: FieldProblems = { byKey: {}, others: [] };

type ConfigFormProps = {
  readonly name: string;
  readonly config: PluginConfig;
  readonly onSaved: () => void;
  readonly onClose: () => void;
};

/** A field for each property of the plugin's schema. What the server refuses is said at the field it is about. */
export function ConfigForm({ name, config, onSaved, onClose }: ConfigFormProps) {
  const { t } = useTranslation();
  const [fields] = useState(() => toFields(config));
  const [drafts, setDrafts] = useState(() => toDrafts(fields, config.values));
  const [problems, setProblems] = useState(noProblems);
  const [failure, setFailure] = useState<Error | null>(null);
  const [isSaving, setIsSaving] = useState(false);

  const change = (key: string, draft: Draft) => setDrafts({ ...drafts, [key]: draft });

  const save = async () => {
    const { values, unreadable } = toValues(fields, drafts);
    setFailure(null);
    setProblems({
      byKey: Object.fromEntries(
        unreadable.map((key) => {
          const isNumber = fields.find((field) => field.key === key)?.kind === "number";
          return [key, t(isNumber ? "admin.plugins.noNumber" : "admin.plugins.noJson")];
        }),
      ),
      others: [],
    });
    if (unreadable.length > 0) return;
    setIsSaving(true);
    try {
      await savePluginConfig(name, values);
      onSaved();
      onClose();
    } catch (error) {
      const found = error instanceof ApiError ? toFieldProblems(fields, error.faults) : noProblems;
      setProblems(found);
      if (Object.keys(found.byKey).length === 0 && found.others.length === 0) setFailure(toError(error));
    }
    setIsSaving(false);
  };

  return (
    <form
      noValidate
      className="space-y-4"
      onSubmit={(event: SyntheticEvent<HTMLFormElement>) => {
        event.preventDefault();
        void save();
      }}
    >
      {fields.map((field) => (
        <ConfigInput
          key={field.key}
          field={field}
          draft={drafts[field.key] ?? null}
          problem={problems.byKey[field.key] ?? null}
          onChange={(draft) => change(field.key, draft)}
        />
      ))}
      {problems.others.map((text) => (
        <ErrorText key={text} text={text} />
      ))}
      <FailureText failure={failure} />
      <p className="text-sm text-ink-faint">{t("admin.plugins.configEffect")}</p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>{t("sessions.cancel")}</Button>
        <Button type="submit" look="primary" disabled={isSaving}>
          {t(isSaving ? "admin.plugins.saving" : "admin.plugins.save")}
        </Button>
      </div>
    </form>
  );
}
