import type { StateCreator } from "zustand";

import type { AppState } from "@/shared/store/app-store";

export type Slice<Part> = StateCreator<AppState, [], [], Part>;
