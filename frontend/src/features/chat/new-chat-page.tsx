import { useState } from "react";
import { useTranslation } from "react-i18next";

import { startChat } from "@/features/chat/chat-controller";
import { Composer } from "@/features/chat/composer/composer";
import { saveDraft } from "@/features/chat/composer/draft";
import { navigate, sessionPath } from "@/shared/lib/router";
import { useAppStore } from "@/shared/store/app-store";

const suggestions = ["tour", "files", "explain"] as const;

/** The empty conversation: it becomes a session with its first message. */
export function NewChatPage() {
  const { t } = useTranslation();
  const [isStarting, setIsStarting] = useState(false);

  const start = async (text: string) => {
    setIsStarting(true);
    try {
      const id = await startChat(text);
      navigate(sessionPath(id));
    } catch (error) {
      saveDraft(null, text);
      setIsStarting(false);
      useAppStore
        .getState()
        .notify(t("chat.startFailed", { message: error instanceof Error ? error.message : String(error) }));
    }
  };

  return (
    <>
      <div className="flex min-h-0 flex-1 flex-col justify-end overflow-y-auto sm:justify-center">
        <div className="mx-auto w-full max-w-[46rem] px-5 py-8 sm:px-8">
          <h1 className="text-[1.75rem] leading-tight font-semibold tracking-[-0.022em] sm:text-[2.125rem]">
            {t("chat.welcome")}
          </h1>
          <p className="mt-2.5 max-w-[34rem] text-ink-soft">{t("chat.welcomeHelp")}</p>
          <ul aria-label={t("chat.suggestions.label")} className="tape mt-7 pb-1">
            {suggestions.map((name) => (
              <li key={name} className="relative">
                <span
                  aria-hidden
                  className="absolute top-[0.95rem] -left-[1.625rem] size-2.5 rounded-full border-2 border-line-strong bg-canvas"
                />
                <button
                  type="button"
                  disabled={isStarting}
                  onClick={() => void start(t(`chat.suggestions.${name}`))}
                  className="min-h-11 rounded-xl border border-line bg-surface px-4 py-2 text-left transition-colors hover:border-accent disabled:opacity-50"
                >
                  {t(`chat.suggestions.${name}`)}
                </button>
              </li>
            ))}
          </ul>
        </div>
      </div>
      <Composer
        key={String(isStarting)}
        sessionId={null}
        isRunning={false}
        isDisabled={isStarting}
        onSend={(text) => void start(text)}
        onStop={() => undefined}
      />
    </>
  );
}
