import { useState } from "react";
import { useTranslation } from "react-i18next";

import { ArchiveForm } from "@/features/admin/plugins/archive-form";
import { Marketplaces } from "@/features/admin/plugins/marketplaces";
import { PluginRow } from "@/features/admin/plugins/plugin-row";
import { fetchPlugins, uploadPlugin, type Plugin } from "@/shared/api/plugins";
import { usePages } from "@/shared/hooks/use-pages";
import { useRepeat } from "@/shared/hooks/use-repeat";
import { includesRole } from "@/shared/lib/roles";
import { refreshPluginUi } from "@/shared/plugin-ui/plugin-ui-list";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";
import { SearchField } from "@/shared/ui/search-field";

// Plugins fail, change in their folders and are worked on by others.
const pollMs = 3_000;

/** All plugins with what can be done about each, and where others come from. */
export function PluginsTab() {
  const { t } = useTranslation();
  const isAdmin = useAppStore((state) => includesRole(state.me?.role ?? "user", "admin"));
  const { items: plugins, hasFailed, reload } = usePages(fetchPlugins);
  useRepeat(reload, pollMs);
  const [query, setQuery] = useState("");
  const [openName, setOpenName] = useState<string | null>(null);
  // What was added last, until something is done about any plugin.
  const [added, setAdded] = useState<Plugin | null>(null);
  const wanted = query.trim().toLowerCase();
  const shown = plugins?.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(wanted),
  );

  const showAdded = (plugin: Plugin) => {
    setQuery("");
    setOpenName(plugin.name);
    setAdded(plugin);
    reload();
  };

  return (
    <div className="space-y-8 py-6">
      <section aria-labelledby="plugins-heading" className="space-y-4">
        <div>
          <h2 id="plugins-heading" className="font-semibold">
            {t("admin.tabs.plugins")}
          </h2>
          <p className="mt-1 text-sm text-ink-soft">{t("admin.plugins.intro")}</p>
        </div>
        {isAdmin && (
          <ArchiveForm
            label={t("admin.plugins.upload")}
            help={t("admin.plugins.uploadHelp")}
            upload={uploadPlugin}
            onUploaded={showAdded}
          />
        )}
        <p role="status" className="text-sm text-green empty:hidden">
          {added && t("admin.plugins.added", { name: added.name, version: added.version })}
        </p>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <SearchField label={t("admin.plugins.search")} value={query} onChange={setQuery} />
          <Button size="small" onClick={reload}>
            {t("admin.plugins.refresh")}
          </Button>
        </div>
        {hasFailed && (
          <p role="alert" className="text-sm text-red">
            {t("list.failed")}
          </p>
        )}
        {plugins === null && !hasFailed && <p className="text-sm text-ink-faint">{t("app.loading")}</p>}
        {shown?.length === 0 && (
          <p className="text-ink-soft">{t(wanted === "" ? "admin.plugins.none" : "admin.plugins.noMatch")}</p>
        )}
        {shown && shown.length > 0 && (
          <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
            {shown.map((plugin) => (
              <PluginRow
                key={plugin.name}
                plugin={plugin}
                isOpen={plugin.name === openName}
                onToggle={() => setOpenName(plugin.name === openName ? null : plugin.name)}
                onChanged={() => {
                  setAdded(null);
                  reload();
                  // What it has for this page comes and goes with it. Without an answer, the page asks again by itself.
                  void refreshPluginUi().catch(() => undefined);
                }}
              />
            ))}
          </ul>
        )}
      </section>
      <Marketplaces installed={new Set(plugins?.map(({ name }) => name))} onInstalled={showAdded} />
    </div>
  );
}
