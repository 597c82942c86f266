import { ShieldCheck } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "@/shared/ui/icon-button";

const RulesDialog = lazy(() =>
  import("@/features/chat/settings/rules-dialog").then((module) => ({ default: module.RulesDialog })),
);

/** Opens the list of what is allowed without asking. */
export function RulesButton({ sessionId }: { readonly sessionId: string }) {
  const { t } = useTranslation();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <IconButton label={t("rules.title")} onClick={() => setIsOpen(true)}>
        <ShieldCheck size={16} aria-hidden />
      </IconButton>
      {isOpen && (
        <Suspense>
          <RulesDialog sessionId={sessionId} onClose={() => setIsOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
