import { useId } from "react";
import { useTranslation } from "react-i18next";

import type { ConfigField, Draft } from "@/features/admin/plugins/config-fields";
import { cn } from "@/shared/lib/class-names";
import { Button } from "@/shared/ui/button";
import { ErrorText } from "@/shared/ui/error-text";

type ConfigInputProps = {
  readonly field: ConfigField;
  readonly draft: Draft;
  readonly problem: string | null;
  readonly onChange: (draft: Draft) => void;
};

const inputLook = "w-full rounded-lg border border-line-strong bg-surface px-3.5 text-sm disabled:opacity-60";

/** One value of a configuration: its name, what it is for, and what is wrong with it. */
export function ConfigInput(props: ConfigInputProps) {
  const { t } = useTranslation();
  const id = useId();
  const { field, problem } = props;
  const { title, help, kind, isRequired, fallback } = field;
  const hints = [
    help,
    kind === "lines" ? t("admin.plugins.linesHelp") : "",
    kind === "json" ? t("admin.plugins.jsonHelp") : "",
    fallback === undefined || kind === "switch"
      ? ""
      : t("admin.plugins.fallback", { value: toText(fallback) }),
  ].filter((text) => text !== "");
  const isSwitch = kind === "switch";
  return (
    <div className="space-y-1.5">
      <div className={cn(isSwitch && "flex flex-row-reverse items-center justify-end gap-2.5")}>
        <label htmlFor={id} className={cn("block text-sm font-medium text-ink-soft", !isSwitch && "pb-1.5")}>
          {title}
          {isRequired && <span className="font-normal text-ink-faint"> {t("admin.plugins.required")}</span>}
        </label>
        <Control {...props} id={id} describedBy={`${id}-hints ${id}-problem`} />
      </div>
      {hints.length > 0 && (
        <p id={`${id}-hints`} className="text-xs break-words text-ink-faint">
          {hints.join(" ")}
        </p>
      )}
      <div id={`${id}-problem`}>
        <ErrorText text={problem} />
      </div>
    </div>
  );
}

const toText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

type ControlProps = ConfigInputProps & { readonly id: string; readonly describedBy: string };

function Control({ field, draft, problem, onChange, id, describedBy }: ControlProps) {
  const { t } = useTranslation();
  const { kind, isRequired } = field;
  const common = {
    id,
    "aria-describedby": describedBy,
    "aria-invalid": problem !== null,
    "aria-required": isRequired,
  };
  if (kind === "secret")
    return <SecretControl field={field} draft={draft} onChange={onChange} common={common} />;
  if (typeof draft === "boolean") {
    return (
      <input
        {...common}
        type="checkbox"
        checked={draft}
        onChange={({ target }) => onChange(target.checked)}
        className="size-4 shrink-0 accent-accent"
      />
    );
  }
  const text = { ...common, value: draft ?? "", spellCheck: false };
  switch (kind) {
    case "choice":
      return (
        <select
          {...common}
          value={draft ?? ""}
          onChange={({ target }) => onChange(target.value)}
          className={cn(inputLook, "h-11")}
        >
          <option value="">{t("admin.plugins.noChoice")}</option>
          {field.options.map((option) => (
            <option key={option} value={option}>
              {toText(JSON.parse(option))}
            </option>
          ))}
        </select>
      );
    case "long_text":
    case "lines":
    case "json":
      return (
        <textarea
          {...text}
          rows={4}
          onChange={({ target }) => onChange(target.value)}
          className={cn(inputLook, "block py-2", kind === "json" && "font-mono text-[0.8125rem]")}
        />
      );
    default:
      return (
        <input
          {...text}
          inputMode={kind === "number" ? "decimal" : "text"}
          autoCapitalize="none"
          autoComplete="off"
          onChange={({ target }) => onChange(target.value)}
          className={cn(inputLook, "h-11")}
        />
      );
  }
}

type SecretControlProps = Pick<ConfigInputProps, "field" | "draft" | "onChange"> & {
  readonly common: { readonly id: string };
};

/** A secret can be set anew or removed; what it is now is never shown, because it never comes here. */
function SecretControl({ field, draft, onChange, common }: SecretControlProps) {
  const { t } = useTranslation();
  const { title, isSet, isFixed } = field;
  const isRemoved = draft === null;
  return (
    <div className="space-y-1.5">
      <div className="flex gap-2">
        <input
          {...common}
          type="password"
          // Not a password of this site: a password manager should neither fill it in nor keep it.
          autoComplete="off"
          disabled={isFixed || isRemoved}
          value={typeof draft === "string" ? draft : ""}
          placeholder={isSet && !isRemoved ? "••••••••" : ""}
          onChange={({ target }) => onChange(target.value)}
          className={cn(inputLook, "h-11 min-w-0 flex-1")}
        />
        {isSet && !isFixed && (
          <Button
            className="h-11"
            aria-label={t(isRemoved ? "admin.plugins.keepSecretNamed" : "admin.plugins.removeSecretNamed", {
              name: title,
            })}
            onClick={() => onChange(isRemoved ? "" : null)}
          >
            {t(isRemoved ? "admin.plugins.keepSecret" : "admin.plugins.removeSecret")}
          </Button>
        )}
      </div>
      <p className="text-xs text-ink-faint">
        {t(`admin.plugins.secret.${isFixed ? "fixed" : isRemoved ? "removed" : isSet ? "set" : "unset"}`)}
      </p>
    </div>
  );
}
