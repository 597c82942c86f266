import { GitFork } from "lucide-react";
import { useTranslation } from "react-i18next";

import { sessionPath } from "@/shared/lib/router";
import { useAppStore } from "@/shared/store/app-store";
import { Link } from "@/shared/ui/link";

/** Says of a fork where it came from. */
export function ForkOrigin() {
  const { t } = useTranslation();
  const originId = useAppStore(
    (state) => state.sessions?.find(({ id }) => id === state.sessionId)?.forked_from ?? null,
  );
  const origin = useAppStore((state) => state.sessions?.find(({ id }) => id === originId));
  if (originId === null) return null;
  return (
    <p className="flex items-center gap-2 text-xs text-ink-faint">
      <GitFork size={13} aria-hidden className="shrink-0" />
      <span>{t("fork.origin")}</span>
      <Link
        to={sessionPath(originId)}
        className="min-w-0 truncate text-ink-soft underline decoration-line-strong underline-offset-3 hover:text-ink"
      >
        {origin === undefined || origin.title === "" ? t("sessions.untitled") : origin.title}
      </Link>
    </p>
  );
}
