import { PanelRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useAppStore } from "@/shared/store/app-store";
import { IconButton } from "@/shared/ui/icon-button";

/** Opens and closes the side panel, if a plugin has something to show there. */
export function SidePanelButton() {
  const { t } = useTranslation();
  const hasSome = useAppStore((state) => state.pluginUi.some(({ slot }) => slot === "side-panel"));
  const isOpen = useAppStore((state) => state.isSidePanelOpen);
  const setOpen = useAppStore((state) => state.setSidePanelOpen);
  if (!hasSome) return null;
  return (
    <IconButton
      label={t(isOpen ? "pluginUi.closePanel" : "pluginUi.openPanel")}
      onClick={() => setOpen(!isOpen)}
    >
      <PanelRight size={16} aria-hidden />
    </IconButton>
  );
}
