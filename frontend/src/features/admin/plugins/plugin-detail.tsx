import { useTranslation } from "react-i18next";

import { InventoryList, PermissionList } from "@/features/admin/plugins/named-lists";
import { PluginActions } from "@/features/admin/plugins/plugin-actions";
import { toPermissionLines } from "@/features/admin/plugins/plugin-state";
import { ProblemList } from "@/features/admin/plugins/problem-list";
import type { Plugin } from "@/shared/api/plugins";

type PluginDetailProps = { readonly plugin: Plugin; readonly onChanged: () => void };

/** What a plugin brings and asks for, what is wrong with it, and what can be done. */
export function PluginDetail({ plugin, onChanged }: PluginDetailProps) {
  const { t } = useTranslation();
  const { permissions, new_permissions, problems, warnings, dependencies, origin, digest } = plugin;
  const isUpdate = plugin.has_update && plugin.active_version !== null;
  const asksMore = isUpdate && toPermissionLines(new_permissions).length > 0;
  const needed = Object.entries(dependencies).map(([name, range]) => `${name} ${range}`);
  return (
    <div className="space-y-4 px-4 pt-1 pb-5 sm:pl-11">
      <PluginActions plugin={plugin} onChanged={onChanged} />
      <ProblemList title={t("admin.plugins.problems")} problems={problems} look="problem" />
      <ProblemList title={t("admin.plugins.warnings")} problems={warnings} look="warning" />
      {asksMore && (
        <section className="space-y-2 rounded-lg border border-amber-line bg-amber-wash px-3.5 py-2.5">
          <h4 className="text-sm font-medium text-amber">{t("admin.plugins.asksMore")}</h4>
          <PermissionList permissions={new_permissions} />
        </section>
      )}
      <section className="space-y-2">
        <h4 className="text-sm font-medium">{t("admin.plugins.brings")}</h4>
        <InventoryList plugin={plugin} />
      </section>
      <section className="space-y-2">
        <h4 className="text-sm font-medium">{t("admin.plugins.asks")}</h4>
        <PermissionList permissions={permissions} />
      </section>
      {needed.length > 0 && (
        <p className="text-sm text-ink-soft">{t("admin.plugins.needs", { names: needed.join(", ") })}</p>
      )}
      <p className="text-xs break-all text-ink-faint">
        {t(`admin.plugins.from.${plugin.source}`, { origin })}
        {digest !== null && <span className="block font-mono">{t("admin.plugins.digest", { digest })}</span>}
      </p>
    </div>
  );
}
