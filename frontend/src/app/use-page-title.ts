import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import { useAppStore } from "@/shared/store/app-store";

/** The tab says which conversation it is and how many of all conversations wait for an answer. */
export function usePageTitle(sessionId: string | null): void {
  const { t } = useTranslation();
  const title = useAppStore((state) => state.sessions?.find(({ id }) => id === sessionId)?.title);
  const waiting = useAppStore(
    (state) => state.sessions?.filter(({ status }) => status === "awaiting_permission").length ?? 0,
  );
  useEffect(() => {
    const name = title ? `${title} · ${t("app.name")}` : t("app.name");
    document.title = waiting > 0 ? t("title.needsYou", { count: waiting, title: name }) : name;
  }, [title, waiting, t]);
}
