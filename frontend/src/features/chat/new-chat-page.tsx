import { useState } from "react";
import { useTranslation } from "react-i18next";

import { DropZone } from "@/features/chat/attachments/drop-zone";
import { Composer } from "@/features/chat/composer/composer";
import { InputExtensions } from "@/features/chat/composer/input-extensions";
import type { PermissionMode } from "@/features/chat/session-commands";
import { ModePicker } from "@/features/chat/settings/mode-picker";
import { ModelPicker } from "@/features/chat/settings/model-picker";
import { ProfilePicker } from "@/features/chat/settings/profile-picker";
import { useProfiles } from "@/features/chat/settings/use-profiles";
import { startChat } from "@/features/chat/start-chat";
import { navigate, sessionPath } from "@/shared/lib/router";
import { usePluginActions } from "@/shared/plugin-ui/use-plugin-actions";
import { useAppStore } from "@/shared/store/app-store";

// What the server gives a session that asks for nothing else.
const usualMode = "acceptEdits";
const suggestions = ["tour", "files", "explain"] as const;

/** The empty conversation: it becomes a session with its first message. */
export function NewChatPage() {
  const { t } = useTranslation();
  const [isStarting, setIsStarting] = useState(false);
  const [model, setModel] = useState<string | null>(null);
  const [mode, setMode] = useState<PermissionMode | null>(null);
  const profiles = useProfiles();
  const [profile, setProfile] = useState<string | null>(null);
  const chosen = profiles.find(({ name }) => name === profile);

  const start = async (text: string) => {
    setIsStarting(true);
    try {
      const id = await startChat(text, {
        ...(mode !== null && { permission_mode: mode }),
        ...(model !== null && { model }),
        ...(chosen && { profile: chosen.name }),
      });
      if (id !== null) navigate(sessionPath(id));
      setIsStarting(false);
    } catch (error) {
      setIsStarting(false);
      useAppStore
        .getState()
        .notify(t("chat.startFailed", { message: error instanceof Error ? error.message : String(error) }));
    }
  };

  usePluginActions(null, (text) => void start(text));

  return (
    <DropZone sessionId={null}>
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
        sessionId={null}
        isRunning={false}
        isDisabled={isStarting}
        controls={
          <>
            <ModePicker mode={mode ?? chosen?.permission_mode ?? usualMode} onChange={setMode} />
            <ModelPicker model={model ?? chosen?.model ?? null} onChange={setModel} />
            {profiles.length > 0 && (
              <ProfilePicker profiles={profiles} profile={chosen?.name ?? null} onChange={setProfile} />
            )}
          </>
        }
        extensions={<InputExtensions />}
        onSend={({ text }) => void start(text)}
        onStop={() => undefined}
      />
    </DropZone>
  );
}
