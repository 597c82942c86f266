import { lazy, Suspense, useEffect, useMemo, useState } from "react";

import type { UiPart } from "@/shared/api/plugin-ui";
import { fetchEvent } from "@/shared/api/rest";
import { useAppStore } from "@/shared/store/app-store";
import type { ToolItem, ToolResultContent } from "@/shared/tape/transcript";

const PluginPart = lazy(() =>
  import("@/shared/plugin-ui/plugin-part").then((module) => ({ default: module.PluginPart })),
);

/** Whether a component is for the results of a tool; `*` stands for any letters. */
export function draws({ slot, plugin, tools }: UiPart, item: ToolItem): boolean {
  if (slot !== "message-renderer" || plugin !== item.plugin) return false;
  const toPattern = (name: string) => name.replace(/[^\w*]/g, "\\$&").replaceAll("*", ".*");
  return tools.some((name) => new RegExp(`^${toPattern(name)}$`).test(item.tool));
}

/** What the plugin of a tool makes of its result. */
export function PluginResult({ item }: { readonly item: ToolItem }) {
  const part = useAppStore((state) => state.pluginUi.find((one) => draws(one, item)));
  const { toolUseId, tool, input, result } = item;
  const whole = useWhole(part === undefined ? null : result);
  const given = useMemo(
    () => ({ toolUseId, tool, input: input ?? {}, result: whole }),
    [toolUseId, tool, input, whole],
  );
  if (!part || whole === null || result?.isError !== false) return null;
  return (
    <div className="pt-2 pb-1">
      <Suspense>
        <PluginPart part={part} given={given} />
      </Suspense>
    </div>
  );
}

/** The whole of a result. Of a long one the tape that we got has only the beginning, and a renderer needs all of it. */
function useWhole(result: ToolItem["result"]): ToolResultContent | null {
  const sessionId = useAppStore((state) => state.sessionId);
  const [fetched, setFetched] = useState<ToolResultContent | null>(null);
  const missing = result?.isTruncated === true ? result.seq : null;
  useEffect(() => {
    if (missing === null || sessionId === null) return;
    let isWanted = true;
    fetchEvent(sessionId, missing).then(
      (event) => {
        if (isWanted && event.type === "tool_result") setFetched(event.content);
      },
      // The card has a button for it, which says what went wrong.
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [missing, sessionId]);
  return missing === null ? (result?.content ?? null) : fetched;
}
