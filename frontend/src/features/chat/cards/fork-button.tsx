import { GitFork } from "lucide-react";
import { useTranslation } from "react-i18next";

import { forkSession } from "@/features/chat/session-commands";
import { cn } from "@/shared/lib/class-names";

/** Opens a copy of the conversation that ends with this answer. */
export function ForkButton({ atSeq }: { readonly atSeq: number }) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      title={t("fork.fromHereHelp")}
      onClick={() => void forkSession(atSeq)}
      className={cn(
        "-ml-1.5 inline-flex h-7 items-center gap-1.5 rounded-md px-1.5 transition hover:bg-hover hover:text-ink",
        // It keeps its place: nothing moves when the pointer comes near.
        "opacity-0 group-hover/figures:opacity-100 group-hover/turn:opacity-100 focus-visible:opacity-100 touch:opacity-100",
      )}
    >
      <GitFork size={13} aria-hidden />
      {t("fork.fromHere")}
    </button>
  );
}
