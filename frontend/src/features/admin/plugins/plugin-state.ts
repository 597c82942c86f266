// What can be done with a plugin as it is, and what it asks for in words; pure.
import type { Permissions, Plugin } from "@/shared/api/plugins";

export type Doings = {
  readonly canActivate: boolean;
  readonly canDeactivate: boolean;
  readonly canReload: boolean;
  readonly canRemove: boolean;
};

/** Whether sessions are given it, or would be if it could be started. */
function isEnabled({ status, active_version }: Plugin): boolean {
  return status === "active" || status === "degraded" || active_version !== null;
}

export function toDoings(plugin: Plugin): Doings {
  const { status, problems, digest, source, has_update } = plugin;
  const isThere = status !== "inactive";
  const isValid = digest !== null && problems.length === 0;
  return {
    canActivate: isThere && isValid && (!isEnabled(plugin) || has_update || status === "errored"),
    canDeactivate: isEnabled(plugin) || status === "errored",
    canReload: isThere,
    // The server forgets what is not in use; a folder it would find again.
    canRemove: !isThere || (source !== "folder" && !isEnabled(plugin)),
  };
}

export type PermissionKind =
  "tools" | "hosts" | "readable" | "writable" | "secrets" | "environment" | "events" | "slots" | "apps";

type Lines<Name> = readonly { readonly kind: Name; readonly items: readonly string[] }[];

/** What a plugin asks for, one line for each kind of thing; empty when it asks for nothing. */
export function toPermissionLines({
  tools,
  hosts,
  paths,
  secrets,
  environment,
  events,
  slots,
  apps,
}: Permissions): Lines<PermissionKind> {
  const all: Lines<PermissionKind> = [
    { kind: "tools", items: tools },
    { kind: "hosts", items: hosts },
    { kind: "readable", items: paths.readable },
    { kind: "writable", items: paths.writable },
    { kind: "secrets", items: secrets },
    { kind: "environment", items: environment },
    { kind: "events", items: events },
    { kind: "slots", items: slots },
  ];
  const named = all.filter(({ items }) => items.length > 0);
  return apps ? [...named, { kind: "apps", items: [] }] : named;
}

export type InventoryKind =
  | "tools"
  | "mcp_servers"
  | "skills"
  | "folders"
  | "commands"
  | "agents"
  | "hooks"
  | "endpoints"
  | "profiles"
  | "ui"
  | "other";

/** What a plugin brings; tools have names when it is at work, and endpoints have none of their own. */
export function toInventoryLines({
  inventory,
  tools,
}: Pick<Plugin, "inventory" | "tools">): Lines<InventoryKind> {
  const { has_tools, endpoints } = inventory;
  const named = [
    "mcp_servers",
    "skills",
    "folders",
    "commands",
    "agents",
    "hooks",
    "profiles",
    "ui",
    "other",
  ] as const;
  return [
    ...(has_tools || tools.length > 0
      ? [{ kind: "tools", items: tools.map(({ name }) => name) } as const]
      : []),
    ...(endpoints ? [{ kind: "endpoints", items: [] } as const] : []),
    ...named
      .map((kind) => ({ kind, items: [...new Set(inventory[kind])] }))
      .filter(({ items }) => items.length > 0),
  ];
}
