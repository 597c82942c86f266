import { lazy, Suspense, type ReactNode } from "react";

import type { Slot, UiPart } from "@/shared/api/plugin-ui";
import { useAppStore } from "@/shared/store/app-store";

// Most pages have no component of a plugin to show.
const PluginPart = lazy(() =>
  import("@/shared/plugin-ui/plugin-part").then((module) => ({ default: module.PluginPart })),
);

type PluginSlotProps = {
  readonly slot: Exclude<Slot, "message-renderer">;
  /** What each component is shown in; by default nothing. */
  readonly frame?: (part: UiPart, component: ReactNode) => ReactNode;
};

/** The components that plugins have for a place of the page. */
export function PluginSlot({ slot, frame = (_, component) => component }: PluginSlotProps) {
  const parts = useAppStore((state) => state.pluginUi);
  return parts
    .filter((part) => part.slot === slot)
    .map((part, index) => (
      // A plugin may fill a slot several times with the same component.
      <Suspense key={`${part.plugin} ${index}`}>{frame(part, <PluginPart part={part} />)}</Suspense>
    ));
}
