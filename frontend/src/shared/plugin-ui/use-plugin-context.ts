import { useMemo, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { getTheme, subscribeTheme } from "@/shared/lib/theme";
import { pluginSettings } from "@/shared/plugin-ui/plugin-settings";
import { useAppStore } from "@/shared/store/app-store";
import type { PluginActions } from "@/shared/store/plugin-ui-slice";
import { useTranscript } from "@/shared/store/use-transcript";
import { isRunning } from "@/shared/tape/transcript";
import type { PluginContextValue } from "@claude-sdk-pattern/plugin-sdk";

/** What the page gives to the components of a plugin; null while nobody is signed in. */
export function usePagePluginContext(name: string, version: string): PluginContextValue | null {
  const { i18n } = useTranslation();
  const theme = useSyncExternalStore(subscribeTheme, getTheme);
  const me = useAppStore((state) => state.me);
  const sessionId = useAppStore((state) => state.sessionId);
  const title = useAppStore(
    ({ sessions, facts }) =>
      facts[sessionId ?? ""]?.title ?? sessions?.find(({ id }) => id === sessionId)?.title ?? null,
  );
  const newTitle = useTranscript((transcript) => transcript.settings.title);
  const running = useTranscript(isRunning);
  const language = i18n.language;
  return useMemo(
    () =>
      me && {
        plugin: { name, version },
        session: sessionId === null ? null : { id: sessionId, title: newTitle ?? title, isRunning: running },
        user: { id: me.id, name: me.username, role: me.role },
        theme,
        language,
        settings: pluginSettings(name, me.id),
        sendMessage: (text) => conversation().sendMessage(written(text)),
        insertText: (text) => conversation().insertText(written(text)),
      },
    [me, name, version, sessionId, newTitle, title, running, theme, language],
  );
}

function conversation(): PluginActions {
  const { pluginActions } = useAppStore.getState();
  if (pluginActions === null) throw new Error("There is no conversation on screen to write into.");
  return pluginActions;
}

/** Modules of plugins are not checked by our compiler. */
function written(text: unknown): string {
  if (typeof text !== "string" || text.trim() === "")
    throw new TypeError("The text of a message has to be text.");
  return text;
}
