import { expect, it, vi } from "vitest";

import { pluginSettings } from "@/shared/plugin-ui/plugin-settings";

it("keeps values for one plugin and one person, and tells who listens", () => {
  const settings = pluginSettings("chart", "ada");
  const listener = vi.fn();
  const stop = settings.subscribe(listener);
  settings.set("kind", "line");
  expect(settings.get("kind")).toBe("line");
  expect(listener).toHaveBeenCalledTimes(1);
  expect(pluginSettings("chart", "ada")).toBe(settings);
  expect(pluginSettings("chart", "bob").get("kind")).toBeUndefined();
  expect(pluginSettings("dice", "ada").get("kind")).toBeUndefined();
  stop();
  settings.set("kind", "bars");
  expect(listener).toHaveBeenCalledTimes(1);
  expect(JSON.parse(localStorage.getItem("csp.plugin.chart.ada") ?? "")).toEqual({ kind: "bars" });
});

it.each(["{", "null", "7"])("begins anew where what was kept is %j", (kept) => {
  localStorage.setItem(`csp.plugin.chart.${kept}`, kept);
  expect(pluginSettings("chart", kept).get("kind")).toBeUndefined();
});

it("follows other tabs", () => {
  const settings = pluginSettings("chart", "eve");
  localStorage.setItem("csp.plugin.chart.eve", '{"kind": "line"}');
  dispatchEvent(new StorageEvent("storage", { key: "csp.plugin.chart.eve" }));
  expect(settings.get("kind")).toBe("line");
});
