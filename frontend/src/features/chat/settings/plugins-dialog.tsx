import { useTranslation } from "react-i18next";

import { setPlugin } from "@/features/chat/session-commands";
import { ListDialog } from "@/features/chat/settings/list-dialog";
import { useSessionPlugins } from "@/features/chat/settings/use-session-plugins";
import { fetchPlugins, type Plugin } from "@/shared/api/plugins";
import { usePages } from "@/shared/hooks/use-pages";
import { Button } from "@/shared/ui/button";
import { Switch } from "@/shared/ui/switch";

/** A plugin with a hook of kind `security`: the server gives it to every session, whatever was chosen. */
function isGuard({ manifest }: Plugin): boolean {
  const hooks = (manifest?.["hooks"] ?? []) as readonly { readonly kind?: string }[];
  return hooks.some(({ kind }) => kind === "security");
}

/** The plugins that are active on the server, each on or off for this conversation. */
export function PluginsDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation();
  const working = useSessionPlugins();
  const { items, hasFailed, reload } = usePages(fetchPlugins);
  const active = items?.filter(({ active_version }) => active_version !== null);
  const isEmpty = active?.length === 0;
  return (
    <ListDialog
      title={t("plugins.title")}
      help={t("plugins.help")}
      problem={
        hasFailed && (
          <p role="alert" className="flex items-center gap-3 text-sm text-red">
            {t("list.failed")}
            <Button size="small" onClick={reload}>
              {t("app.tryAgain")}
            </Button>
          </p>
        )
      }
      note={isEmpty ? t("plugins.empty") : items === null && !hasFailed ? t("app.loading") : null}
      onClose={onClose}
    >
      {active?.map((plugin) => {
        const { name, description } = plugin;
        const guards = isGuard(plugin);
        return (
          <li key={name} className="flex items-center gap-4 py-2.5 text-sm">
            <span className="min-w-0 flex-1">
              <span className="block font-medium break-words">{name}</span>
              <span className="block text-xs break-words text-ink-faint">
                {guards ? t("plugins.guard") : description}
              </span>
            </span>
            <Switch
              label={name}
              isOn={guards || (working?.has(name) ?? true)}
              isDisabled={guards}
              onChange={(isOn) => setPlugin(name, isOn)}
            />
          </li>
        );
      })}
    </ListDialog>
  );
}
