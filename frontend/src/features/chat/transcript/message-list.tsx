import { ArrowDown } from "lucide-react";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import { ForkOrigin } from "@/features/chat/fork-origin";
import { Announcer } from "@/features/chat/transcript/announcer";
import { OutgoingMessages } from "@/features/chat/transcript/outgoing-messages";
import { QuietLine } from "@/features/chat/transcript/quiet-line";
import { TurnList } from "@/features/chat/transcript/turn-list";
import { useStickToBottom } from "@/features/chat/transcript/use-stick-to-bottom";
import { useAppStore } from "@/shared/store/app-store";

export function MessageList() {
  const { t } = useTranslation();
  const newestOutgoing = useAppStore((state) => state.outbox.at(-1)?.clientId);
  const { scrollRef, contentRef, isAtBottom, jump } = useStickToBottom();

  // Whoever sends a message wants to see what comes of it.
  useEffect(() => {
    if (newestOutgoing !== undefined) jump();
  }, [newestOutgoing, jump]);

  return (
    <div className="relative min-h-0 flex-1">
      <div ref={scrollRef} className="h-full [scrollbar-gutter:stable] overflow-y-auto overscroll-contain">
        <div
          ref={contentRef}
          role="log"
          // Half-written blocks are not read out; finished ones are, by the Announcer.
          aria-live="off"
          aria-label={t("chat.log")}
          className="mx-auto w-full max-w-[46rem] space-y-9 px-4 pt-7 pb-4 sm:px-6"
        >
          <ForkOrigin />
          <TurnList />
          <OutgoingMessages />
          {/* Room that is always there: what is said in it moves nothing. */}
          <div className="-mt-5 h-7">
            <QuietLine />
          </div>
        </div>
      </div>
      <Announcer />
      {!isAtBottom && (
        <button
          type="button"
          onClick={jump}
          className="absolute bottom-3 left-1/2 flex h-9 -translate-x-1/2 animate-rise items-center gap-1.5 rounded-full border border-line bg-surface pr-4 pl-3 text-[0.8125rem] font-medium text-ink-soft shadow-raised hover:text-ink"
        >
          <ArrowDown size={14} aria-hidden />
          {t("chat.jump")}
        </button>
      )}
    </div>
  );
}
