import { useTranslation } from "react-i18next";

import { useAppStore } from "@/shared/store/app-store";
import type { Resolution } from "@/shared/tape/transcript";

/** Who let a call pass or stopped it, for how long that holds, and what they said. */
export function DecisionLine({ resolution }: { readonly resolution: Resolution }) {
  const { t } = useTranslation();
  const me = useAppStore((state) => state.me?.id);
  const { decision, by, byName, reason, remembered } = resolution;
  const isAllowed = decision === "allow";
  const who = by === me ? t("decision.you") : (byName ?? t("decision.somebody"));
  const text =
    by === "system"
      ? isAllowed
        ? t("decision.allowed")
        : (reason ?? t("tool.deniedBySystem"))
      : isAllowed
        ? t(remembered === null ? "decision.allowedBy" : `decision.${remembered}`, { who })
        : t("decision.deniedBy", { who });
  return (
    <p className="text-xs break-words text-ink-faint" data-testid="decision">
      {text}
      {by !== "system" && reason !== null && <span className="text-ink-soft"> “{reason}”</span>}
    </p>
  );
}
