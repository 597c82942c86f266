// What a form of a plugin's configuration consists of, from its JSON Schema; pure.
import type { Fault } from "@/shared/api/api-error";
import type { PluginConfig } from "@/shared/api/plugins";

type Json = Readonly<Record<string, unknown>>;

/** `lines` is a list of texts, one on each line; `json` is whatever has no field of its own. */
type Kind = "text" | "long_text" | "number" | "switch" | "choice" | "lines" | "secret" | "json";

export type ConfigField = {
  readonly key: string;
  readonly kind: Kind;
  readonly title: string;
  readonly help: string;
  readonly isRequired: boolean;
  /** What holds when nothing is said; undefined for nothing. */
  readonly fallback: unknown;
  /** The values of a choice, as JSON; empty for the other kinds. */
  readonly options: readonly string[];
  /** Of a secret: whether there is one now. */
  readonly isSet: boolean;
  /** Of a secret: it comes from a file and cannot be changed here. */
  readonly isFixed: boolean;
};

/** What stands in a field: on or off for a switch, text for the others, null for a secret that is to be removed. */
export type Draft = string | boolean | null;

export type Drafts = Readonly<Record<string, Draft>>;

/** Problems by the key of their field; those of no field by themselves. */
export type FieldProblems = {
  readonly byKey: Readonly<Record<string, string>>;
  readonly others: readonly string[];
};

// Beyond this many letters, a line is too short to see what one writes.
const longTextFrom = 200;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isText = (value: unknown): value is string => typeof value === "string";

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Equal as JSON. Keys of objects count in any order, as they do for the server. */
function isSame(a: unknown, b: unknown): boolean {
  if (isList(a) && isList(b)) return a.length === b.length && a.every((part, at) => isSame(part, b[at]));
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => key in b && isSame(a[key], b[key]));
  }
  return a === b;
}

function toKind(part: Json, value: unknown): Kind {
  if (part["writeOnly"] === true) return "secret";
  if (isList(part["enum"])) return "choice";
  switch (part["type"]) {
    case "boolean":
      return "switch";
    case "integer":
    case "number":
      return "number";
    case "string": {
      const isLong = Number(part["maxLength"] ?? 0) > longTextFrom;
      const hasLines = [value, part["default"]].some((text) => isText(text) && text.includes("\n"));
      return isLong || hasLines ? "long_text" : "text";
    }
    case "array":
      return isObject(part["items"]) && part["items"]["type"] === "string" && !part["items"]["enum"]
        ? "lines"
        : "json";
    default:
      return "json";
  }
}

/** The fields of a configuration, in the order of its schema. */
export function toFields({ config_schema, values, secrets, fixed_secrets }: PluginConfig): ConfigField[] {
  const { properties, required } = config_schema as Json;
  return Object.entries(isObject(properties) ? properties : {}).map(([key, schema]) => {
    // A property may be just `true`: anything goes.
    const part = isObject(schema) ? schema : {};
    const kind = toKind(part, values[key]);
    return {
      key,
      kind,
      title: isText(part["title"]) ? part["title"] : key,
      help: isText(part["description"]) ? part["description"] : "",
      isRequired: isList(required) && required.includes(key),
      fallback: part["default"],
      options:
        kind === "choice" && isList(part["enum"]) ? part["enum"].map((value) => JSON.stringify(value)) : [],
      isSet: typeof secrets[key] === "string",
      isFixed: fixed_secrets.includes(key),
    };
  });
}

function toDraft({ kind }: ConfigField, value: unknown): Draft {
  switch (kind) {
    case "switch":
      return value === true;
    case "secret":
      return "";
    case "lines":
      return isList(value) ? value.join("\n") : "";
    case "choice":
      return value === undefined ? "" : JSON.stringify(value);
    case "json":
      return value === undefined ? "" : JSON.stringify(value, null, 2);
    case "number":
      return typeof value === "number" ? String(value) : "";
    case "text":
    case "long_text":
      return isText(value) ? value : "";
  }
}

/** What stands in the fields before anybody has typed. */
export function toDrafts(fields: readonly ConfigField[], values: Json): Drafts {
  return Object.fromEntries(fields.map((field) => [field.key, toDraft(field, values[field.key])]));
}

/** What a field amounts to; undefined: it says nothing. Null for a text that is none of its kind. */
function toValue({ kind, isRequired, fallback }: ConfigField, draft: Draft): { value: unknown } | null {
  if (typeof draft === "boolean") {
    const isSilent = !draft && fallback === undefined && !isRequired;
    return { value: isSilent ? undefined : draft };
  }
  // Only a secret can be removed.
  if (draft === null) return { value: null };
  switch (kind) {
    case "lines": {
      const lines = draft.split("\n").flatMap((line) => line.trim() || []);
      return { value: lines.length === 0 && fallback === undefined ? undefined : lines };
    }
    case "number": {
      const number = Number(draft);
      if (draft.trim() === "") return { value: undefined };
      return Number.isFinite(number) ? { value: number } : null;
    }
    case "choice":
    case "json":
      if (draft.trim() === "") return { value: undefined };
      try {
        return { value: JSON.parse(draft) };
      } catch {
        return null;
      }
    default:
      return { value: draft === "" ? undefined : draft };
  }
}

/**
 * What to send for what stands in the fields. A value that is the default is left out, so that another default of a
 * later version holds. Keys in `unreadable` are fields whose text is no number, or no JSON.
 */
export function toValues(
  fields: readonly ConfigField[],
  drafts: Drafts,
): { readonly values: Json; readonly unreadable: readonly string[] } {
  const values: Record<string, unknown> = {};
  const unreadable: string[] = [];
  for (const field of fields) {
    if (field.isFixed) continue;
    const { [field.key]: draft = "" } = drafts;
    const read = toValue(field, draft);
    if (read === null) unreadable.push(field.key);
    else if (read.value !== undefined && !isSame(read.value, field.fallback)) values[field.key] = read.value;
  }
  return { values, unreadable };
}

/** Puts what the server found to its fields: `days in config`, or `places.0 in config` for a part of a field. */
export function toFieldProblems(fields: readonly ConfigField[], faults: readonly Fault[]): FieldProblems {
  const byKey: Record<string, string> = {};
  const others: string[] = [];
  for (const { where, what } of faults) {
    const path = where.replace(/ in config$/, "");
    const field = fields.find(({ key }) => path === key || path.startsWith(`${key}.`));
    if (field === undefined) {
      others.push(path === "config" ? what : `${path}: ${what}`);
      continue;
    }
    const said = path === field.key ? what : `${path.slice(field.key.length + 1)}: ${what}`;
    byKey[field.key] = Object.hasOwn(byKey, field.key) ? `${byKey[field.key]}; ${said}` : said;
  }
  return { byKey, others };
}
