import { lazy, Suspense, useMemo } from "react";

import { useWhole } from "@/features/chat/tools/use-whole";
import type { UiPart } from "@/shared/api/plugin-ui";
import { useAppStore } from "@/shared/store/app-store";
import type { ToolItem } from "@/shared/tape/transcript";

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
