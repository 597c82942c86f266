import { fetchPluginUi, type UiPart } from "@/shared/api/plugin-ui";
import { useAppStore } from "@/shared/store/app-store";

// An operator may activate or deactivate a plugin while this page is open.
const refreshMs = 60_000;
// The server's cookie is as good as the access token it was asked with, which has at least this long to live.
const grantMs = 20_000;

let grantedAt = Number.NEGATIVE_INFINITY;

/** Asks the server which components there are. What did not change stays the same object. */
export async function refreshPluginUi(): Promise<void> {
  const parts = await fetchPluginUi();
  grantedAt = Date.now();
  const { pluginUi, setPluginUi } = useAppStore.getState();
  const next = kept(pluginUi, parts);
  if (next.length !== pluginUi.length || next.some((part, index) => part !== pluginUi[index]))
    setPluginUi(next);
}

/** Makes sure that this browser may load files of plugins now. @throws {ApiError} the server was asked in vain. */
export async function grantPluginFiles(): Promise<void> {
  if (Date.now() - grantedAt > grantMs) await refreshPluginUi();
}

/** Keeps the list up to date until the function it returns is called. A plugin that is gone vanishes from the page. */
export function followPluginUi(): () => void {
  const refresh = () => {
    // Without an answer the page goes on with what it has, and asks again.
    if (document.visibilityState === "visible") void refreshPluginUi().catch(() => undefined);
  };
  refresh();
  const timer = setInterval(refresh, refreshMs);
  document.addEventListener("visibilitychange", refresh);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", refresh);
  };
}

function kept(before: readonly UiPart[], after: readonly UiPart[]): readonly UiPart[] {
  const known = new Map(before.map((part) => [JSON.stringify(part), part]));
  return after.map((part) => known.get(JSON.stringify(part)) ?? part);
}
