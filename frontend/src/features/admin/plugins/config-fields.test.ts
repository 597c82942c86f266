// The form of a configuration: what it shows for a schema, and what it sends back.
import { expect, test } from "vitest";

import {
  toDrafts,
  toFieldProblems,
  toFields,
  toValues,
  type Drafts,
} from "@/features/admin/plugins/config-fields";
import type { PluginConfig } from "@/shared/api/plugins";

function config(
  properties: object,
  more: Partial<PluginConfig> & { required?: string[] } = {},
): PluginConfig {
  const { required = [], ...rest } = more;
  return {
    config_schema: { type: "object", properties, required },
    values: {},
    secrets: {},
    fixed_secrets: [],
    ...rest,
  };
}

const every = config(
  {
    city: { type: "string", title: "City", description: "Where to look." },
    days: { type: "integer", default: 3 },
    metric: { type: "boolean" },
    tone: { enum: ["plain", 7] },
    places: { type: "array", items: { type: "string" } },
    note: { type: "string", maxLength: 5000 },
    API_KEY: { type: "string", writeOnly: true },
    limits: { type: "object" },
    anything: true,
    either: { type: ["string", "null"] },
  },
  {
    required: ["city"],
    values: { city: "Rome", days: 3, metric: true, tone: 7, places: ["a", "b"], limits: { a: 1 } },
    secrets: { API_KEY: "********" },
  },
);

const type = (given: PluginConfig, typed: Drafts) => {
  const fields = toFields(given);
  return toValues(fields, { ...toDrafts(fields, given.values), ...typed });
};

test("each kind of property gets the field that fits it", () => {
  expect(toFields(every).map(({ key, kind }) => [key, kind])).toEqual([
    ["city", "text"],
    ["days", "number"],
    ["metric", "switch"],
    ["tone", "choice"],
    ["places", "lines"],
    ["note", "long_text"],
    ["API_KEY", "secret"],
    ["limits", "json"],
    ["anything", "json"],
    ["either", "json"],
  ]);
  expect(toFields(every)[0]).toMatchObject({ title: "City", help: "Where to look.", isRequired: true });
  expect(toFields(every)[6]).toMatchObject({ title: "API_KEY", isSet: true, isFixed: false });
});

test("what was not touched is sent as it was, without defaults and without secrets", () => {
  expect(type(every, {})).toEqual({
    values: { city: "Rome", metric: true, tone: 7, places: ["a", "b"], limits: { a: 1 } },
    unreadable: [],
  });
});

test("a secret is never among what a form begins with", () => {
  const given = config({ KEY: { type: "string", writeOnly: true } }, { secrets: { KEY: "********" } });
  expect(toDrafts(toFields(given), given.values)).toEqual({ KEY: "" });
});

test("a secret is set, kept or removed", () => {
  const given = config({ KEY: { type: "string", writeOnly: true } }, { secrets: { KEY: "********" } });
  expect(type(given, { KEY: "new" }).values).toEqual({ KEY: "new" });
  expect(type(given, { KEY: "" }).values).toEqual({});
  expect(type(given, { KEY: null }).values).toEqual({ KEY: null });
  expect(type({ ...given, fixed_secrets: ["KEY"] }, { KEY: "new" }).values).toEqual({});
});

test("an emptied field goes back to its default", () => {
  expect(type(every, { city: "", days: "", tone: "", limits: " " }).values).toEqual({
    metric: true,
    places: ["a", "b"],
  });
});

test("off and an empty list are said where they are not the default", () => {
  const given = config({
    on: { type: "boolean", default: true },
    off: { type: "boolean" },
    hosts: { type: "array", items: { type: "string" }, default: ["a"] },
    more: { type: "array", items: { type: "string" } },
  });
  expect(type(given, { on: false, off: false, hosts: "", more: " \n" }).values).toEqual({
    on: false,
    hosts: [],
  });
});

test("lists are one text to a line", () => {
  expect(type(every, { places: " Rome \n\nParis" }).values).toMatchObject({ places: ["Rome", "Paris"] });
});

test("what is no number and no JSON is told before anything is sent", () => {
  expect(type(every, { days: "three", limits: "{" }).unreadable).toEqual(["days", "limits"]);
  expect(type(every, { days: "1e3" }).values).toMatchObject({ days: 1000 });
});

test("a default is a default in any order of its keys", () => {
  const given = config({ limits: { type: "object", default: { a: [1], b: 2 } } });
  expect(type(given, { limits: '{"b": 2, "a": [1]}' }).values).toEqual({});
  expect(type(given, { limits: '{"b": 2, "a": [2]}' }).values).toEqual({ limits: { b: 2, a: [2] } });
});

test("a text of several lines is not squeezed into one", () => {
  const given = config({ note: { type: "string" } }, { values: { note: "a\nb" } });
  expect(toFields(given)[0]?.kind).toBe("long_text");
});

test("what the server finds stands at its field", () => {
  const faults = [
    { where: "days in config", what: "has to be of the type integer" },
    { where: "places.0 in config", what: "is too short" },
    { where: "places.1 in config", what: "is too long" },
    { where: "config", what: "has a key that is not one of these" },
    { where: "day in config", what: "is unknown" },
  ];
  expect(toFieldProblems(toFields(every), faults)).toEqual({
    byKey: { days: "has to be of the type integer", places: "0: is too short; 1: is too long" },
    others: ["has a key that is not one of these", "day: is unknown"],
  });
});
