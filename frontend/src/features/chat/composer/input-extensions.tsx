import { useTranslation } from "react-i18next";

import { PluginSlot } from "@/shared/plugin-ui/plugin-slot";
import { useAppStore } from "@/shared/store/app-store";

/** What plugins put above the input. */
export function InputExtensions() {
  const { t } = useTranslation();
  const hasSome = useAppStore((state) => state.pluginUi.some(({ slot }) => slot === "input-extension"));
  if (!hasSome) return null;
  return (
    <div
      role="group"
      aria-label={t("pluginUi.input")}
      className="relative flex flex-wrap items-center gap-2 px-1 pb-2"
    >
      <PluginSlot slot="input-extension" />
    </div>
  );
}
