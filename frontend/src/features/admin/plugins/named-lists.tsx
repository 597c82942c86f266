import { useTranslation } from "react-i18next";

import { toInventoryLines, toPermissionLines } from "@/features/admin/plugins/plugin-state";
import type { Permissions, Plugin } from "@/shared/api/plugins";
import { VisibleText } from "@/shared/ui/visible-text";

type Line = { readonly kind: string; readonly name: string; readonly items: readonly string[] };

function NamedLists({ lines, empty }: { readonly lines: readonly Line[]; readonly empty: string }) {
  if (lines.length === 0) return <p className="text-sm text-ink-soft">{empty}</p>;
  return (
    <dl className="grid gap-x-4 gap-y-1.5 text-sm sm:grid-cols-[minmax(9rem,auto)_1fr]">
      {lines.map(({ kind, name, items }) => (
        <div key={kind} className="sm:contents">
          <dt className="text-ink-faint">{name}</dt>
          <dd className="flex min-w-0 flex-wrap gap-1.5 max-sm:pt-1">
            {items.map((item) => (
              <code key={item} className="rounded-md bg-sunken px-1.5 py-0.5 text-xs break-all">
                <VisibleText text={item} />
              </code>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function PermissionList({ permissions }: { readonly permissions: Permissions }) {
  const { t } = useTranslation();
  const lines = toPermissionLines(permissions).map((line) => ({
    ...line,
    name: t(`admin.plugins.permission.${line.kind}`),
  }));
  return <NamedLists lines={lines} empty={t("admin.plugins.asksNothing")} />;
}

export function InventoryList({ plugin }: { readonly plugin: Plugin }) {
  const { t } = useTranslation();
  const lines = toInventoryLines(plugin).map((line) => ({
    ...line,
    name: t(`admin.plugins.inventory.${line.kind}`),
  }));
  return <NamedLists lines={lines} empty={t("admin.plugins.bringsNothing")} />;
}
