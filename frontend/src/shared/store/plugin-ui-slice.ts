import type { UiPart } from "@/shared/api/plugin-ui";
import type { Slice } from "@/shared/store/slice";

/** What plugins can have done in the conversation on screen. */
export type PluginActions = {
  readonly sendMessage: (text: string) => void;
  readonly insertText: (text: string) => void;
};

export type PluginUiSlice = {
  /** Components of active plugins, as of the last time the server was asked. */
  readonly pluginUi: readonly UiPart[];
  /** Null where there is nothing to write into. */
  readonly pluginActions: PluginActions | null;
  readonly isSidePanelOpen: boolean;
  setPluginUi: (parts: readonly UiPart[]) => void;
  setPluginActions: (actions: PluginActions | null) => void;
  setSidePanelOpen: (isOpen: boolean) => void;
};

export const createPluginUiSlice: Slice<PluginUiSlice> = (set) => ({
  pluginUi: [],
  pluginActions: null,
  isSidePanelOpen: false,
  setPluginUi: (pluginUi) => set({ pluginUi }),
  setPluginActions: (pluginActions) => set({ pluginActions }),
  setSidePanelOpen: (isSidePanelOpen) => set({ isSidePanelOpen }),
});
