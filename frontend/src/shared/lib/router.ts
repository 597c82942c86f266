import { useSyncExternalStore } from "react";

export type Route =
  | { readonly name: "sign_in" }
  | { readonly name: "new_chat" }
  | { readonly name: "session"; readonly id: string }
  /** `tab` is whatever stands in the address; null for none. */
  | { readonly name: "admin"; readonly tab: string | null }
  | { readonly name: "account" }
  /** Pages for who has a one-time link, signed in or not. */
  | { readonly name: "setup" }
  | { readonly name: "choose_password" };

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

export function adminPath(tab: string): string {
  return `/admin/${tab}`;
}

export function toRoute(pathname: string): Route {
  if (pathname === "/login") return { name: "sign_in" };
  if (pathname === "/setup") return { name: "setup" };
  if (pathname === "/choose-password") return { name: "choose_password" };
  if (pathname === "/account") return { name: "account" };
  const admin = /^\/admin(?:\/([a-z-]+))?\/?$/.exec(pathname);
  if (admin) return { name: "admin", tab: admin[1] ?? null };
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
