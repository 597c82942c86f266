import { create } from "zustand";

import { createConnectionSlice, type ConnectionSlice } from "@/shared/store/connection-slice";
import { createDraftsSlice, type DraftsSlice } from "@/shared/store/drafts-slice";
import { createPersonSlice, type PersonSlice } from "@/shared/store/person-slice";
import { createPluginUiSlice, type PluginUiSlice } from "@/shared/store/plugin-ui-slice";
import { createSessionsSlice, type SessionsSlice } from "@/shared/store/sessions-slice";
import { createTranscriptSlice, type TranscriptSlice } from "@/shared/store/transcript-slice";
import { createUiSlice, type UiSlice } from "@/shared/store/ui-slice";

export type AppState = PersonSlice &
  ConnectionSlice &
  DraftsSlice &
  PluginUiSlice &
  SessionsSlice &
  TranscriptSlice &
  UiSlice;

export const useAppStore = create<AppState>()((...tools) => ({
  ...createPersonSlice(...tools),
  ...createConnectionSlice(...tools),
  ...createDraftsSlice(...tools),
  ...createPluginUiSlice(...tools),
  ...createSessionsSlice(...tools),
  ...createTranscriptSlice(...tools),
  ...createUiSlice(...tools),
}));
