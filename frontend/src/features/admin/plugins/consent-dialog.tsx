import { useState } from "react";
import { useTranslation } from "react-i18next";

import { FailureText } from "@/features/admin/plugins/failure-text";
import { InventoryList, PermissionList } from "@/features/admin/plugins/named-lists";
import { toPermissionLines } from "@/features/admin/plugins/plugin-state";
import { useWork } from "@/features/admin/plugins/use-work";
import { activatePlugin, type Plugin } from "@/shared/api/plugins";
import { Button } from "@/shared/ui/button";
import { Dialog } from "@/shared/ui/dialog";

type ConsentDialogProps = {
  readonly plugin: Plugin;
  /** Called when it was tried, whether or not it worked: the server notes what did not. */
  readonly onTried: () => void;
  readonly onClose: () => void;
};

/** Shows what a plugin asks for; to activate it is to agree to exactly that. */
export function ConsentDialog({ plugin: latest, onTried, onClose }: ConsentDialogProps) {
  const { t } = useTranslation();
  // What a person is reading does not change under their eyes.
  const [plugin, setPlugin] = useState(latest);
  const { isBusy, failure, run } = useWork();
  const { name, version, permissions, new_permissions, active_version } = plugin;
  const isUpdate = active_version !== null;
  const asksMore = toPermissionLines(new_permissions).length > 0;
  const activate = async () => {
    const isDone = await run(() => activatePlugin(name, plugin.digest));
    onTried();
    if (isDone) onClose();
  };
  return (
    <Dialog title={t("admin.plugins.activateQuestion", { name, version })} onClose={onClose}>
      {isUpdate && (
        <section aria-label={t("admin.plugins.asksMore")} className="space-y-2">
          <h3 className="text-sm font-medium">{t("admin.plugins.asksMore")}</h3>
          {asksMore ? (
            <PermissionList permissions={new_permissions} />
          ) : (
            <p className="text-sm text-ink-soft">{t("admin.plugins.asksNoMore")}</p>
          )}
        </section>
      )}
      <section className="space-y-2">
        <h3 className="text-sm font-medium">
          {t(isUpdate ? "admin.plugins.asksInAll" : "admin.plugins.asks")}
        </h3>
        <PermissionList permissions={permissions} />
      </section>
      <section className="space-y-2">
        <h3 className="text-sm font-medium">{t("admin.plugins.brings")}</h3>
        <InventoryList plugin={plugin} />
      </section>
      <p className="text-sm text-ink-faint">{t("admin.plugins.consent")}</p>
      {latest.digest !== plugin.digest && (
        <p role="status" className="flex flex-wrap items-center gap-3 text-sm text-amber">
          {t("admin.plugins.changedMeanwhile")}
          <Button size="small" onClick={() => setPlugin(latest)}>
            {t("admin.plugins.lookAgain")}
          </Button>
        </p>
      )}
      <FailureText failure={failure} />
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>{t("sessions.cancel")}</Button>
        <Button look="primary" disabled={isBusy} onClick={() => void activate()}>
          {t(isBusy ? "admin.plugins.activating" : "admin.plugins.agree")}
        </Button>
      </div>
    </Dialog>
  );
}
