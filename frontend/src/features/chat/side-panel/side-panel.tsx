import { X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useMediaQuery } from "@/shared/hooks/use-media-query";
import { PluginSlot } from "@/shared/plugin-ui/plugin-slot";
import { useAppStore } from "@/shared/store/app-store";
import { IconButton } from "@/shared/ui/icon-button";
import { Modal } from "@/shared/ui/modal";

/** What plugins show beside the conversation; over it on narrow screens. */
export function SidePanel() {
  const { t } = useTranslation();
  const isOpen = useAppStore(
    (state) => state.isSidePanelOpen && state.pluginUi.some(({ slot }) => slot === "side-panel"),
  );
  const setOpen = useAppStore((state) => state.setSidePanelOpen);
  const isWide = useMediaQuery("(width >= 64rem)");
  if (!isOpen) return null;
  if (isWide) {
    return (
      <aside
        aria-label={t("pluginUi.panel")}
        className="w-[20rem] shrink-0 overflow-y-auto border-l border-line"
      >
        <Parts />
      </aside>
    );
  }
  const close = () => setOpen(false);
  return (
    <Modal
      labelledBy="side-panel-title"
      onClose={close}
      className="my-0 mr-0 ml-auto h-dvh max-h-none w-[min(22rem,90vw)] border-l border-line bg-canvas p-0 text-ink shadow-raised"
    >
      <div className="flex h-14 items-center px-4">
        <h2 id="side-panel-title" className="flex-1 font-semibold">
          {t("pluginUi.panel")}
        </h2>
        <IconButton label={t("pluginUi.closePanel")} onClick={close}>
          <X size={17} aria-hidden />
        </IconButton>
      </div>
      <Parts />
    </Modal>
  );
}

function Parts() {
  return (
    <div className="divide-y divide-line">
      <PluginSlot
        slot="side-panel"
        frame={(part, component) => (
          <section aria-label={part.title ?? part.plugin} className="space-y-3 p-4">
            <h3 className="text-sm font-medium text-ink-soft">{part.title ?? part.plugin}</h3>
            {component}
          </section>
        )}
      />
    </div>
  );
}
