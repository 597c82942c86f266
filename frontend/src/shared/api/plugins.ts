import type { Page, PageQuery } from "@/shared/api/admin";
import { request } from "@/shared/api/http";
import type { components } from "@/shared/api/rest.gen";
import { uploadFile, type UploadOptions } from "@/shared/api/upload";

type Schemas = components["schemas"];

export type Plugin = Readonly<Schemas["PluginView"]>;
export type PluginProblem = Readonly<Schemas["ProblemView"]>;
export type Permissions = Readonly<Schemas["PermissionsView"]>;
export type PluginConfig = Readonly<Schemas["PluginConfigView"]>;
export type Marketplace = Readonly<Schemas["MarketplaceView"]>;
export type Offer = Readonly<Schemas["OfferView"]>;

type ArchiveOptions = UploadOptions & {
  /** What the archive's SHA-256 has to be, in hex; empty for any. */
  readonly sha256: string;
  /** Ed25519 over the archive, in base64; empty for none. */
  readonly signature: string;
};

const pluginPath = (name: string) => `/plugins/${encodeURIComponent(name)}`;
const marketplacePath = (name: string) => `/marketplaces/${encodeURIComponent(name)}`;

/** All of them: the server does not cut this list into pages, nor that of marketplaces. */
export async function fetchPlugins({ signal }: PageQuery = {}): Promise<Page<Plugin>> {
  const { items } = await request<Schemas["PluginList"]>("GET", "/plugins", { ...(signal && { signal }) });
  return { items, next_cursor: null };
}

/** Agrees to what the plugin with this `digest` asks for, and puts it to work; refused if it has changed since. */
export function activatePlugin(name: string, digest: string | null): Promise<Plugin> {
  return request("POST", `${pluginPath(name)}/activate`, { body: { digest } });
}

export function deactivatePlugin(name: string): Promise<Plugin> {
  return request("POST", `${pluginPath(name)}/deactivate`);
}

/** Has its folder read again, and starts it anew if it is active. */
export function reloadPlugin(name: string): Promise<Plugin> {
  return request("POST", `${pluginPath(name)}/reload`);
}

export function removePlugin(name: string): Promise<void> {
  return request("DELETE", pluginPath(name));
}

export function fetchPluginConfig(name: string): Promise<PluginConfig> {
  return request("GET", `${pluginPath(name)}/config`);
}

/** Replaces the configuration: values that are left out go back to their defaults, secrets stay, null removes one. */
export function savePluginConfig(
  name: string,
  values: Readonly<Record<string, unknown>>,
): Promise<PluginConfig> {
  return request("PUT", `${pluginPath(name)}/config`, { body: { values } });
}

function uploadArchive<T>(path: string, archive: File, options: ArchiveOptions): Promise<T> {
  const query = new URLSearchParams();
  if (options.sha256 !== "") query.set("sha256", options.sha256);
  if (options.signature !== "") query.set("signature", options.signature);
  return uploadFile(query.size > 0 ? `${path}?${query.toString()}` : path, archive, options);
}

/** Adds a plugin, or another version of one. It is not activated by that. */
export function uploadPlugin(archive: File, options: ArchiveOptions): Promise<Plugin> {
  return uploadArchive("/plugins", archive, options);
}

export async function fetchMarketplaces({ signal }: PageQuery): Promise<Page<Marketplace>> {
  const { items } = await request<Schemas["MarketplaceList"]>("GET", "/marketplaces", {
    ...(signal && { signal }),
  });
  return { items, next_cursor: null };
}

export function uploadMarketplace(archive: File, options: ArchiveOptions): Promise<Marketplace> {
  return uploadArchive("/marketplaces", archive, options);
}

export function removeMarketplace(name: string): Promise<void> {
  return request("DELETE", marketplacePath(name));
}

/** Installs a plugin, or its update. It is not activated by that. */
export function installPlugin(marketplace: string, plugin: string): Promise<Plugin> {
  return request("POST", `${marketplacePath(marketplace)}/plugins/${encodeURIComponent(plugin)}/install`);
}
