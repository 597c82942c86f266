import { useTranslation } from "react-i18next";

import type { AuditEntry } from "@/shared/api/rest";
import { i18n } from "@/shared/i18n/i18n";
import { VisibleText } from "@/shared/ui/visible-text";

type AuditTableProps = {
  readonly entries: readonly AuditEntry[];
  readonly onActor: (actor: string) => void;
};

const columns = ["when", "who", "what", "target", "details"] as const;

function formatMoment(iso: string): string {
  return new Intl.DateTimeFormat(i18n.resolvedLanguage ?? "en", {
    dateStyle: "short",
    timeStyle: "medium",
  }).format(new Date(iso));
}

export function AuditTable({ entries, onActor }: AuditTableProps) {
  const { t } = useTranslation();
  return (
    // A region that scrolls must be reachable with the keyboard.
    <div
      role="region"
      aria-label={t("admin.audit.title")}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      className="overflow-x-auto rounded-xl border border-line"
    >
      <table className="w-full min-w-160 text-left text-[0.8125rem]">
        <thead className="bg-sunken text-xs text-ink-faint">
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col" className="px-3 py-2 font-medium">
                {t(`admin.audit.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {entries.map((entry) => (
            <tr key={entry.seq} className="align-top">
              <td className="px-3 py-2 whitespace-nowrap" title={`${entry.seq} · ${entry.hash}`}>
                <time dateTime={entry.at}>{formatMoment(entry.at)}</time>
              </td>
              <td className="px-3 py-2">
                <Actor entry={entry} onActor={onActor} />
              </td>
              <td className="px-3 py-2 font-mono text-xs">{entry.action}</td>
              <td className="max-w-48 truncate px-3 py-2 font-mono text-xs" title={entry.target ?? undefined}>
                {entry.target}
              </td>
              <td className="px-3 py-2 font-mono text-xs break-all text-ink-soft">
                <VisibleText text={detailsOf(entry)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function detailsOf({ details }: AuditEntry): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

function Actor({
  entry,
  onActor,
}: {
  readonly entry: AuditEntry;
  readonly onActor: (actor: string) => void;
}) {
  const { t } = useTranslation();
  const { actor } = entry;
  if (actor === null) return <span className="text-ink-faint">{t("admin.audit.nobody")}</span>;
  const name = entry.actor_name ?? actor;
  return (
    <button
      type="button"
      className="text-accent hover:underline"
      title={t("admin.audit.onlyThis", { name })}
      onClick={() => onActor(actor)}
    >
      {name}
    </button>
  );
}
