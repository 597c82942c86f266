import { useRef, useState } from "react";

import type { Answer, Question } from "@/features/chat/apps/app-question";
import type { AppHost } from "@/features/chat/apps/connect-app";
import { callAppTool, readAppResource } from "@/shared/api/apps";
import { useAppStore } from "@/shared/store/app-store";
import type { JsonObject } from "@/shared/tape/transcript";

type Asked = { readonly question: Question; readonly answer: (answer: Answer) => void };

export type AppHostState = {
  readonly actions: Pick<AppHost, "openLink" | "insertText" | "callTool" | "readResource">;
  /** What the person has to decide now. */
  readonly asked: Asked | null;
};

/** Does for an app what it asks of the page, one question to the person at a time. */
export function useAppHost(sessionId: string, seq: number): AppHostState {
  const [asked, setAsked] = useState<Asked | null>(null);
  const isAsking = useRef(false);
  const [actions] = useState(() => {
    const agreed = new Set<string>();

    const ask = (question: Question): Promise<Answer> => {
      if (isAsking.current) return Promise.reject(new Error("The person is being asked something already."));
      isAsking.current = true;
      return new Promise((resolve) => {
        setAsked({
          question,
          answer: (answer) => {
            isAsking.current = false;
            setAsked(null);
            resolve(answer);
          },
        });
      });
    };

    const callTool = async (tool: string, input: JsonObject): Promise<unknown> => {
      const call = (consent: boolean) => callAppTool(sessionId, seq, { tool, arguments: input, consent });
      const first = await call(agreed.has(tool));
      if (first.consent_needed === null) return first.result;
      const answer = await ask({ kind: "call", tool, input });
      if (answer === "no") throw new Error("The person did not agree.");
      if (answer === "while open") agreed.add(tool);
      return (await call(true)).result;
    };

    const openLink = async (url: string): Promise<void> => {
      const { protocol, href } = new URL(url);
      if (protocol !== "https:" && protocol !== "http:") throw new Error("Only web addresses are opened.");
      if ((await ask({ kind: "link", url: href })) === "no") throw new Error("The person did not agree.");
      open(href, "_blank", "noopener,noreferrer");
    };

    const insertText = (text: string): void => {
      const { pluginActions } = useAppStore.getState();
      if (pluginActions === null) throw new Error("There is no input to write into.");
      pluginActions.insertText(text);
    };

    return {
      callTool,
      openLink,
      insertText,
      readResource: (uri: string) => readAppResource(sessionId, seq, uri),
    };
  });
  return { actions, asked };
}
