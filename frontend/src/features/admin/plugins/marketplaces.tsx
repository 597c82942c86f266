import { useTranslation } from "react-i18next";

import { ArchiveForm } from "@/features/admin/plugins/archive-form";
import { MarketplaceView } from "@/features/admin/plugins/marketplace-view";
import { fetchMarketplaces, uploadMarketplace, type Plugin } from "@/shared/api/plugins";
import { usePages } from "@/shared/hooks/use-pages";
import { includesRole } from "@/shared/lib/roles";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";

type MarketplacesProps = {
  readonly installed: ReadonlySet<string>;
  readonly onInstalled: (plugin: Plugin) => void;
};

/** Catalogues to install plugins from: those of the server's settings, and those that were uploaded. */
export function Marketplaces({ installed, onInstalled }: MarketplacesProps) {
  const { t } = useTranslation();
  const isAdmin = useAppStore((state) => includesRole(state.me?.role ?? "user", "admin"));
  const { items: marketplaces, hasFailed, reload } = usePages(fetchMarketplaces);
  return (
    <section aria-labelledby="marketplaces-heading" className="space-y-4">
      <div>
        <h2 id="marketplaces-heading" className="font-semibold">
          {t("admin.plugins.marketplaces")}
        </h2>
        <p className="mt-1 text-sm text-ink-soft">{t("admin.plugins.marketplacesIntro")}</p>
      </div>
      {hasFailed && (
        <p role="alert" className="flex items-center gap-3 text-sm text-red">
          {t("list.failed")}
          <Button size="small" onClick={reload}>
            {t("app.tryAgain")}
          </Button>
        </p>
      )}
      {marketplaces?.length === 0 && (
        <p className="text-sm text-ink-soft">{t("admin.plugins.noMarketplaces")}</p>
      )}
      {marketplaces?.map((marketplace) => (
        <MarketplaceView
          key={marketplace.name}
          marketplace={marketplace}
          isAdmin={isAdmin}
          installed={installed}
          onInstalled={onInstalled}
          onRemoved={reload}
        />
      ))}
      {isAdmin && (
        <ArchiveForm
          label={t("admin.plugins.addMarketplace")}
          help={t("admin.plugins.addMarketplaceHelp")}
          upload={uploadMarketplace}
          onUploaded={reload}
        />
      )}
    </section>
  );
}
