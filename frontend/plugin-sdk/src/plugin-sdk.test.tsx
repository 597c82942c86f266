import { act } from "react";
import { describe, expect, it } from "vitest";

import { resultText, usePluginContext, usePluginSetting } from "./plugin-sdk";
import { fakeContext, memorySettings, renderSlot } from "./testing";
import { pluginUi, sharedModules } from "./vite";

function Counter({ label }: { readonly label: string }) {
  const { user, sendMessage } = usePluginContext();
  const [count, setCount] = usePluginSetting("count", 1);
  return (
    <button
      type="button"
      onClick={() => {
        setCount(count + 1);
        sendMessage(`${user.name} counts`);
      }}
    >
      {label} {count}
    </button>
  );
}

function press(element: HTMLElement): void {
  act(() => element.querySelector("button")?.click());
}

describe("renderSlot", () => {
  it("gives a component its context and shows what it makes of it", async () => {
    const context = fakeContext({ user: { id: "1", name: "bob", role: "admin" } });
    const { element, unmount } = await renderSlot(Counter, { label: "Count" }, context);
    expect(element.dataset["plugin"]).toBe("plugin");
    expect(element.textContent).toBe("Count 1");
    press(element);
    expect(element.textContent).toBe("Count 2");
    expect(context.sent).toEqual(["bob counts"]);
    await unmount();
    expect(element.isConnected).toBe(false);
  });

  it("begins with the settings it is given and shares them", async () => {
    const settings = memorySettings({ count: 5 });
    const first = await renderSlot(Counter, { label: "A" }, fakeContext({ settings }));
    const second = await renderSlot(Counter, { label: "B" }, fakeContext({ settings }));
    press(first.element);
    expect([first.element.textContent, second.element.textContent]).toEqual(["A 6", "B 6"]);
    expect(settings.get("count")).toBe(6);
    await first.unmount();
    await second.unmount();
  });
});

describe("resultText", () => {
  it("is the text of whatever a tool answered", () => {
    expect(resultText("plain")).toBe("plain");
    expect(resultText([{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }])).toBe(
      "a\nb",
    );
  });
});

describe("pluginUi", () => {
  it("leaves what the page has out of the bundle", () => {
    const { build } = pluginUi({ entry: "src/chart.tsx", name: "chart" });
    expect(build?.rolldownOptions?.external).toEqual([...sharedModules]);
    expect(build?.outDir).toBe("ui");
  });

  it("refuses a name that leads out of the folder", () => {
    expect(() => pluginUi({ entry: "a.tsx", name: "../a" })).toThrow("no name for a file");
  });
});
