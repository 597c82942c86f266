import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { ConfigForm } from "@/features/admin/plugins/config-form";
import { FailureText } from "@/features/admin/plugins/failure-text";
import { fetchPluginConfig, type PluginConfig } from "@/shared/api/plugins";
import { toError } from "@/shared/lib/to-error";
import { Button } from "@/shared/ui/button";
import { Dialog } from "@/shared/ui/dialog";

type ConfigDialogProps = {
  readonly name: string;
  readonly onSaved: () => void;
  readonly onClose: () => void;
};

export function ConfigDialog({ name, onSaved, onClose }: ConfigDialogProps) {
  const { t } = useTranslation();
  const [config, setConfig] = useState<PluginConfig | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  useEffect(() => {
    let isCurrent = true;
    fetchPluginConfig(name).then(
      (found) => isCurrent && setConfig(found),
      (error: unknown) => isCurrent && setFailure(toError(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [name]);
  return (
    <Dialog title={t("admin.plugins.configureNamed", { name })} onClose={onClose}>
      {config ? (
        <ConfigForm name={name} config={config} onSaved={onSaved} onClose={onClose} />
      ) : (
        <>
          <FailureText failure={failure} />
          {failure === null && <p className="text-sm text-ink-faint">{t("app.loading")}</p>}
          <div className="flex justify-end">
            <Button onClick={onClose}>{t("shortcuts.close")}</Button>
          </div>
        </>
      )}
    </Dialog>
  );
}
