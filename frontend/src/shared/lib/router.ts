import { useSyncExternalStore } from "react";

export type Route =
  | { readonly name: "sign_in" }
  | { readonly name: "new_chat" }
  | { readonly name: "session"; readonly id: string };

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("popstate", listener);
  };
}

export function navigate(path: string, options: { readonly replace?: boolean } = {}): void {
  if (path === location.pathname + location.search) return;
  history[options.replace ? "replaceState" : "pushState"](null, "", path);
  for (const listener of listeners) listener();
}

export function sessionPath(id: string): string {
  return `/s/${encodeURIComponent(id)}`;
}

export function toRoute(pathname: string): Route {
  if (pathname === "/login") return { name: "sign_in" };
  const id = /^\/s\/([^/]+)\/?$/.exec(pathname)?.[1];
  if (id === undefined) return { name: "new_chat" };
  try {
    return { name: "session", id: decodeURIComponent(id) };
  } catch {
    return { name: "new_chat" };
  }
}

export function useRoute(): Route {
  return toRoute(useSyncExternalStore(subscribe, () => location.pathname));
}
