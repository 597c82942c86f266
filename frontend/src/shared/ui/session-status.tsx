import { useTranslation } from "react-i18next";

import { cn } from "@/shared/lib/class-names";

type Look = "idle" | "working" | "needsYou" | "asleep";

/** What a status amounts to, for those who only want to know whether to look; a name below `sessions.status`. */
export function toLook(status: string): Look {
  switch (status) {
    case "idle":
    case "recovered":
      return "idle";
    case "hibernated":
    case "server_shutting_down":
      return "asleep";
    case "awaiting_permission":
      return "needsYou";
    default:
      return "working";
  }
}

/** A dot and, for those who do not see it, its meaning. Working is a ring and waiting a square: not colour alone. */
export function SessionStatus({ status }: { readonly status: string }) {
  const { t } = useTranslation();
  const look = toLook(status);
  if (look === "idle" || look === "asleep") return null;
  return (
    <span className="flex items-center" title={t(`sessions.status.${look}`)}>
      <span
        aria-hidden
        className={cn(
          "size-2 shrink-0",
          look === "working" && "size-2.5 animate-pulse-soft rounded-full border-2 border-accent",
          look === "needsYou" && "rounded-[2px] bg-amber",
        )}
      />
      <span className="sr-only">{t(`sessions.status.${look}`)}</span>
    </span>
  );
}
