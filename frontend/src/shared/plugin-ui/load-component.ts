import type { ComponentType } from "react";

import type { UiFile, UiPart } from "@/shared/api/plugin-ui";
import { adoptStyle } from "@/shared/plugin-ui/plugin-style";
import { grantPluginFiles } from "@/shared/plugin-ui/plugin-ui-list";

/** A component that gets whatever its slot gives. */
export type PluginComponent = ComponentType<Readonly<Record<string, unknown>>>;

const loaded = new Map<string, Promise<PluginComponent>>();

/** Names a component in the version the list has: another version of its plugin is another one. */
export function partKey({ module, slot, export: name }: UiPart): string {
  return `${slot} ${module.url}#${name}`;
}

/**
 * Loads a component, once: the same promise for the same part, also if it failed. It is rejected when the module cannot
 * be fetched, is not what the server said it is, throws, or has no such component.
 */
export function loadComponent(part: UiPart): Promise<PluginComponent> {
  const key = partKey(part);
  const known = loaded.get(key);
  if (known) return known;
  const loading = load(part);
  loaded.set(key, loading);
  return loading;
}

async function load({ plugin, module, style, export: name }: UiPart): Promise<PluginComponent> {
  await grantPluginFiles();
  if (style) await adoptStyle(plugin, style);
  await preload(module);
  const exported = (await import(/* @vite-ignore */ module.url)) as Readonly<Record<string, unknown>>;
  const component = exported[name];
  // What `memo` and others make of a component is an object.
  const isComponent =
    typeof component === "function" || (typeof component === "object" && component !== null);
  if (!isComponent) throw new Error(`The module has no component called ${name}.`);
  return component as PluginComponent;
}

/** `import()` knows no hash, but takes what was preloaded, and nothing was if the hash was wrong. */
function preload({ url, integrity }: UiFile): Promise<void> {
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = url;
    link.integrity = integrity;
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () =>
      reject(new Error("The module cannot be loaded, or was altered on its way.")),
    );
    document.head.append(link);
  });
}
