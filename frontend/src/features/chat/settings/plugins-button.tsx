import { Puzzle } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/shared/ui/icon-button";

const PluginsDialog = lazy(() =>
  import("@/features/chat/settings/plugins-dialog").then((module) => ({ default: module.PluginsDialog })),
);

/** Opens the list of plugins that the conversation works with. */
export function PluginsButton() {
  const { t } = useTranslation();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <IconButton label={t("plugins.title")} onClick={() => setIsOpen(true)}>
        <Puzzle size={16} aria-hidden />
      </IconButton>
      {isOpen && (
        <Suspense>
          <PluginsDialog onClose={() => setIsOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
