import type { Tool } from "@modelcontextprotocol/client";
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { AppQuestion } from "@/features/chat/apps/app-question";
import { connectApp, type AppConnection } from "@/features/chat/apps/connect-app";
import { toHostContext } from "@/features/chat/apps/host-context";
import { useAppHost } from "@/features/chat/apps/use-app-host";
import { useWhole } from "@/features/chat/tools/use-whole";
import { fetchApp, makeAppPageUrl, type App } from "@/shared/api/apps";
import { getTheme, subscribeTheme } from "@/shared/lib/theme";
import type { ToolItem } from "@/shared/tape/transcript";

type AppFrameProps = { readonly item: ToolItem; readonly sessionId: string };

type Phase = "loading" | "shown" | "failed" | "closed" | "given up";

const firstHeight = 120;

/** The app of a tool call, in a frame that is of no origin, and what it wants a person to decide below it. */
export function AppFrame({ item, sessionId }: AppFrameProps) {
  const { t, i18n } = useTranslation();
  const plugin = item.plugin ?? "";
  const [app, setApp] = useState<App | null>(null);
  const [phase, setPhase] = useState<Phase>("loading");
  const [height, setHeight] = useState(firstHeight);
  const frame = useRef<HTMLIFrameElement>(null);
  const connection = useRef<AppConnection>(null);
  const { actions, asked } = useAppHost(sessionId, item.seq);
  const theme = useSyncExternalStore(subscribeTheme, getTheme);
  const locale = i18n.language;
  const whole = useWhole(item.result);
  const isError = item.result?.isError ?? false;

  useEffect(() => {
    let isWanted = true;
    fetchApp(sessionId, item.seq).then(
      (found) => isWanted && setApp(found),
      () => isWanted && setPhase("failed"),
    );
    return () => {
      isWanted = false;
    };
  }, [sessionId, item.seq]);

  const connect = useEffectEvent((element: HTMLIFrameElement, tool: Tool) => {
    const connected = connectApp(element, {
      tool,
      input: item.input ?? {},
      context: toHostContext(theme, locale),
      host: { ...actions, setHeight, onEnd: setPhase },
    });
    connection.current = connected;
    if (whole !== null) connected.setResult(whole, isError);
    return connected;
  });
  useEffect(() => {
    const element = frame.current;
    if (app === null || element === null) return;
    const connected = connect(element, app.tool as Tool);
    makeAppPageUrl(sessionId, item.seq).then(
      (url) => {
        element.src = url;
        setPhase("shown");
      },
      () => setPhase("failed"),
    );
    return () => {
      connection.current = null;
      connected.close();
    };
  }, [app, sessionId, item.seq]);

  useEffect(() => {
    if (whole !== null) connection.current?.setResult(whole, isError);
  }, [whole, isError]);
  useEffect(() => connection.current?.setContext(toHostContext(theme, locale)), [theme, locale]);

  if (phase === "closed") return null;
  if (phase === "failed" || phase === "given up") {
    return (
      <p role="note" className="text-xs text-ink-faint">
        {phase === "failed" ? t("pluginApp.failed", { plugin }) : t("pluginApp.givenUp", { plugin })}
      </p>
    );
  }
  if (app === null) return null;
  return (
    <>
      <iframe
        ref={frame}
        title={t("pluginApp.title", { plugin })}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        style={{ height }}
        className="block w-full rounded-xl border border-line bg-surface"
      />
      {asked && <AppQuestion plugin={plugin} question={asked.question} onAnswer={asked.answer} />}
    </>
  );
}
