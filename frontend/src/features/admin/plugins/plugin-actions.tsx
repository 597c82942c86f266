import { useState } from "react";
import { useTranslation } from "react-i18next";

import { ConfigDialog } from "@/features/admin/plugins/config-dialog";
import { ConsentDialog } from "@/features/admin/plugins/consent-dialog";
import { FailureText } from "@/features/admin/plugins/failure-text";
import { toDoings } from "@/features/admin/plugins/plugin-state";
import { useWork } from "@/features/admin/plugins/use-work";
import { deactivatePlugin, reloadPlugin, removePlugin, type Plugin } from "@/shared/api/plugins";
import { includesRole } from "@/shared/lib/roles";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";
import { ConfirmDialog } from "@/shared/ui/confirm-dialog";

function hasConfiguration({ manifest }: Plugin): boolean {
  const schema = manifest?.["config_schema"] as { properties?: object } | undefined;
  return Object.keys(schema?.properties ?? {}).length > 0;
}

type PluginActionsProps = { readonly plugin: Plugin; readonly onChanged: () => void };

export function PluginActions({ plugin, onChanged }: PluginActionsProps) {
  const { t } = useTranslation();
  const isAdmin = useAppStore((state) => includesRole(state.me?.role ?? "user", "admin"));
  const [open, setOpen] = useState<"consent" | "config" | "removal" | null>(null);
  const { isBusy, failure, run } = useWork();
  const { name, active_version } = plugin;
  const { canActivate, canDeactivate, canReload, canRemove } = toDoings(plugin);
  const close = () => setOpen(null);

  const act = async (work: () => Promise<unknown>) => {
    await run(work);
    onChanged();
  };

  return (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-2">
        {canActivate && (
          <Button size="small" look="primary" disabled={isBusy} onClick={() => setOpen("consent")}>
            {t(active_version === null ? "admin.plugins.activate" : "admin.plugins.activateUpdate")}
          </Button>
        )}
        {hasConfiguration(plugin) && (
          <Button size="small" onClick={() => setOpen("config")}>
            {t("admin.plugins.configure")}
          </Button>
        )}
        {canReload && (
          <Button size="small" disabled={isBusy} onClick={() => void act(() => reloadPlugin(name))}>
            {t("admin.plugins.reload")}
          </Button>
        )}
        {canDeactivate && (
          <Button size="small" disabled={isBusy} onClick={() => void act(() => deactivatePlugin(name))}>
            {t("admin.plugins.deactivate")}
          </Button>
        )}
        {canRemove && isAdmin && (
          <Button size="small" look="danger" disabled={isBusy} onClick={() => setOpen("removal")}>
            {t("admin.plugins.remove")}
          </Button>
        )}
      </div>
      <FailureText failure={failure} />
      {open === "consent" && <ConsentDialog plugin={plugin} onTried={onChanged} onClose={close} />}
      {open === "config" && <ConfigDialog name={name} onSaved={onChanged} onClose={close} />}
      {open === "removal" && (
        <ConfirmDialog
          title={t("admin.plugins.removeQuestion", { name })}
          text={t("admin.plugins.removeWarning")}
          confirmLabel={t("admin.plugins.remove")}
          onClose={close}
          onConfirm={() => {
            close();
            void act(() => removePlugin(name));
          }}
        />
      )}
    </div>
  );
}
