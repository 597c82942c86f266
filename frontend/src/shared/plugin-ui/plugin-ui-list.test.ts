import { afterEach, expect, it, vi } from "vitest";

import { fetchPluginUi, type UiPart } from "@/shared/api/plugin-ui";
import { followPluginUi, grantPluginFiles, refreshPluginUi } from "@/shared/plugin-ui/plugin-ui-list";
import { useAppStore } from "@/shared/store/app-store";

vi.mock("@/shared/api/plugin-ui", () => ({ fetchPluginUi: vi.fn() }));
const fetched = vi.mocked(fetchPluginUi);

const part = (plugin: string): UiPart => ({
  plugin,
  version: "1.0.0",
  slot: "side-panel",
  module: { url: `/${plugin}.js`, integrity: "" },
  export: "Panel",
  style: null,
  title: plugin,
  tools: [],
});

afterEach(() => {
  useAppStore.setState({ pluginUi: [] });
  vi.useRealTimers();
});

it("keeps the parts that did not change, so that nothing is drawn anew", async () => {
  fetched.mockResolvedValueOnce([part("a"), part("b")]);
  await refreshPluginUi();
  const before = useAppStore.getState().pluginUi;
  fetched.mockResolvedValueOnce([part("a"), part("b")]);
  await refreshPluginUi();
  expect(useAppStore.getState().pluginUi).toBe(before);
  fetched.mockResolvedValueOnce([part("b")]);
  await refreshPluginUi();
  expect(useAppStore.getState().pluginUi).toEqual([part("b")]);
  expect(useAppStore.getState().pluginUi[0]).toBe(before[1]);
});

it("asks again before files are loaded, if it asked long ago", async () => {
  vi.useFakeTimers();
  fetched.mockResolvedValue([]);
  await refreshPluginUi();
  const asked = fetched.mock.calls.length;
  await grantPluginFiles();
  expect(fetched.mock.calls.length).toBe(asked);
  vi.advanceTimersByTime(21_000);
  await grantPluginFiles();
  expect(fetched.mock.calls.length).toBe(asked + 1);
});

it("asks every minute until it is stopped, and outlives a server that does not answer", async () => {
  vi.useFakeTimers();
  fetched
    .mockReset()
    .mockRejectedValueOnce(new Error("unreachable"))
    .mockResolvedValue([part("a")]);
  const stop = followPluginUi();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(useAppStore.getState().pluginUi).toEqual([part("a")]);
  stop();
  await vi.advanceTimersByTimeAsync(300_000);
  expect(fetched).toHaveBeenCalledTimes(2);
});
