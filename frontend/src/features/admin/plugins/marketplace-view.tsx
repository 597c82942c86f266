import { useState } from "react";
import { useTranslation } from "react-i18next";

import { FailureText } from "@/features/admin/plugins/failure-text";
import { useWork } from "@/features/admin/plugins/use-work";
import {
  installPlugin,
  removeMarketplace,
  type Marketplace,
  type Offer,
  type Plugin,
} from "@/shared/api/plugins";
import { Button } from "@/shared/ui/button";
import { ConfirmDialog } from "@/shared/ui/confirm-dialog";

type MarketplaceViewProps = {
  readonly marketplace: Marketplace;
  readonly isAdmin: boolean;
  /** Names of the plugins that are there already, from wherever. */
  readonly installed: ReadonlySet<string>;
  readonly onInstalled: (plugin: Plugin) => void;
  readonly onRemoved: () => void;
};

/** One catalogue with what it offers; administrators install from it. */
export function MarketplaceView(props: MarketplaceViewProps) {
  const { marketplace, isAdmin, installed, onInstalled, onRemoved } = props;
  const { t } = useTranslation();
  const [isRemoving, setIsRemoving] = useState(false);
  const { isBusy, failure, run } = useWork();
  const { name, description, owner, problem, plugins, source } = marketplace;
  const remove = async () => {
    setIsRemoving(false);
    if (await run(() => removeMarketplace(name))) onRemoved();
  };
  const install = (plugin: string) => run(async () => onInstalled(await installPlugin(name, plugin)));
  return (
    <section aria-label={name} className="rounded-xl border border-line bg-surface">
      <div className="flex flex-wrap items-start gap-3 border-b border-line px-4 py-3">
        <div className="min-w-0 flex-1">
          <h3 className="font-medium break-words">{name}</h3>
          <p className="text-sm break-words text-ink-soft">
            {[owner && t("admin.plugins.owner", { owner }), description].filter(Boolean).join(" · ")}
          </p>
        </div>
        {isAdmin && source === "upload" && (
          <Button
            size="small"
            look="danger"
            disabled={isBusy}
            aria-label={t("admin.plugins.removeMarketplaceNamed", { name })}
            onClick={() => setIsRemoving(true)}
          >
            {t("admin.plugins.remove")}
          </Button>
        )}
      </div>
      {problem !== null && <p className="px-4 py-3 text-sm break-words text-red">{problem}</p>}
      {failure !== null && (
        <div className="px-4 py-3">
          <FailureText failure={failure} />
        </div>
      )}
      <ul className="divide-y divide-line">
        {plugins.map((offer) => (
          <OfferRow
            key={offer.name}
            offer={offer}
            isInstalled={installed.has(offer.name)}
            isBusy={isBusy}
            onInstall={isAdmin ? () => void install(offer.name) : null}
          />
        ))}
      </ul>
      {isRemoving && (
        <ConfirmDialog
          title={t("admin.plugins.removeQuestion", { name })}
          text={t("admin.plugins.removeMarketplaceWarning")}
          confirmLabel={t("admin.plugins.remove")}
          onClose={() => setIsRemoving(false)}
          onConfirm={() => void remove()}
        />
      )}
    </section>
  );
}

type OfferRowProps = {
  readonly offer: Offer;
  readonly isInstalled: boolean;
  readonly isBusy: boolean;
  /** Null for those who may only look. */
  readonly onInstall: (() => void) | null;
};

function OfferRow({ offer, isInstalled, isBusy, onInstall }: OfferRowProps) {
  const { t } = useTranslation();
  const { name, description, version, category, obstacle } = offer;
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1 basis-48">
        <p className="flex flex-wrap items-baseline gap-x-2.5 text-sm">
          <span className="font-medium break-words">{name}</span>
          <span className="text-xs text-ink-faint">{[version, category].filter(Boolean).join(" · ")}</span>
        </p>
        {description !== "" && <p className="text-sm break-words text-ink-soft">{description}</p>}
        {obstacle !== null && <p className="text-sm break-words text-amber">{obstacle}</p>}
      </div>
      {obstacle === null && onInstall && (
        <Button
          size="small"
          disabled={isBusy}
          aria-label={t(isInstalled ? "admin.plugins.installAgainNamed" : "admin.plugins.installNamed", {
            name,
          })}
          onClick={onInstall}
        >
          {t(isInstalled ? "admin.plugins.installAgain" : "admin.plugins.install")}
        </Button>
      )}
    </li>
  );
}
