import { request } from "@/shared/api/http";
import type { components } from "@/shared/api/rest.gen";

type Schemas = components["schemas"];

/** A component that an active plugin puts into a slot of the page. */
export type UiPart = Readonly<Schemas["UiPartView"]>;
export type UiFile = Readonly<Schemas["UiFileView"]>;
export type Slot = UiPart["slot"];

/** All of them. The answer also lets this browser load their files, for as long as the access token is good. */
export async function fetchPluginUi(): Promise<readonly UiPart[]> {
  return (await request<Schemas["UiPartList"]>("GET", "/plugin-ui")).items;
}
