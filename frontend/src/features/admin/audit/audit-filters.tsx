import { useEffect, useState, type ComponentProps } from "react";
import { useTranslation } from "react-i18next";

import { fetchAuditActions, type AuditFilter } from "@/shared/api/rest";
import { Button } from "@/shared/ui/button";

const fieldLook =
  "h-9 w-full min-w-0 rounded-lg border border-line-strong bg-surface px-2.5 text-sm text-ink";

type AuditFiltersProps = {
  readonly filter: AuditFilter;
  readonly onChange: (filter: AuditFilter) => void;
  readonly onClear: () => void;
};

/** "auth." and every other beginning that several actions share, then the actions themselves. */
function withGroups(actions: readonly string[]): readonly string[] {
  const groups = new Set(actions.map((action) => action.slice(0, action.indexOf(".") + 1)));
  return [...groups, ...actions];
}

// The field speaks of the reader's own time, the server of UTC.
const toInstant = (local: string) => (local === "" ? "" : new Date(local).toISOString());

export function AuditFilters({ filter, onChange, onClear }: AuditFiltersProps) {
  const { t } = useTranslation();
  const [actions, setActions] = useState<readonly string[]>([]);
  const [round, setRound] = useState(0);
  useEffect(() => {
    // Without them the list of actions is empty, and everything else works.
    fetchAuditActions().then(setActions, () => undefined);
  }, []);
  const clear = () => {
    // Fields of time keep what was half typed; new ones are empty.
    setRound(round + 1);
    onClear();
  };
  return (
    <form
      key={round}
      className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2 lg:grid-cols-5"
      onSubmit={(event) => event.preventDefault()}
    >
      <Field label={t("admin.audit.action")}>
        <select
          className={fieldLook}
          value={filter.action}
          onChange={({ target }) => onChange({ ...filter, action: target.value })}
        >
          <option value="">{t("admin.audit.anyAction")}</option>
          {withGroups(actions).map((action) => (
            <option key={action} value={action}>
              {action.endsWith(".") ? `${action}*` : action}
            </option>
          ))}
        </select>
      </Field>
      <Field label={t("admin.audit.person")}>
        <input
          className={fieldLook}
          value={filter.actor}
          maxLength={255}
          onChange={({ target }) => onChange({ ...filter, actor: target.value })}
        />
      </Field>
      <TimeField
        label={t("admin.audit.since")}
        onChange={({ target }) => onChange({ ...filter, since: toInstant(target.value) })}
      />
      <TimeField
        label={t("admin.audit.until")}
        onChange={({ target }) => onChange({ ...filter, until: toInstant(target.value) })}
      />
      <Button look="quiet" size="small" onClick={clear}>
        {t("admin.audit.clear")}
      </Button>
    </form>
  );
}

function TimeField({
  label,
  onChange,
}: { readonly label: string } & Pick<ComponentProps<"input">, "onChange">) {
  return (
    <Field label={label}>
      <input type="datetime-local" className={fieldLook} onChange={onChange} />
    </Field>
  );
}

function Field({ label, children }: { readonly label: string; readonly children: React.ReactNode }) {
  return (
    <label className="block min-w-0 text-xs text-ink-faint">
      <span className="mb-1 block">{label}</span>
      {children}
    </label>
  );
}
