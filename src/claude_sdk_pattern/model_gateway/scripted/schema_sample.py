"""Make up data that fits a JSON schema, for a scenario that gives no structured output of its own."""

from collections.abc import Mapping
from typing import Any

type Schema = Mapping[str, Any]


def sample(schema: Schema) -> Any:
    """Return the smallest sensible value: what the schema fixes or proposes, else a plain value of its type."""
    return _sample(schema, schema)


def misfit(schema: Schema) -> dict[str, Any]:
    """Return an object that a schema of objects refuses, as long as it says of what type its fields are."""
    names: list[str] = schema.get("required") or list[str](schema.get("properties") or ())
    # Neither text nor number nor a list of anything.
    return {name: {"misfit": [None]} for name in names}


def _sample(schema: Schema, root: Schema) -> Any:
    if reference := schema.get("$ref"):
        return _sample(_resolved(str(reference), root), root)
    if "const" in schema:
        return schema["const"]
    for proposals in ("enum", "examples"):
        if schema.get(proposals):
            return schema[proposals][0]
    if "default" in schema:
        return schema["default"]
    for choices in ("anyOf", "oneOf", "allOf"):
        if schema.get(choices):
            return _sample(schema[choices][0], root)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0]  # pyright: ignore[reportUnknownVariableType]
    return _of_type(str(kind or "object"), schema, root)  # pyright: ignore[reportUnknownArgumentType]


def _of_type(kind: str, schema: Schema, root: Schema) -> Any:
    match kind:
        case "object":
            wanted: list[str] = schema.get("required") or []
            properties: dict[str, Schema] = schema.get("properties") or {}
            return {name: _sample(part, root) for name, part in properties.items() if name in wanted}
        case "array":
            count = max(1, int(schema.get("minItems", 1)))
            return [_sample(schema.get("items") or {"type": "string"}, root) for _ in range(count)]
        case "integer" | "number":
            return schema.get("minimum", schema.get("maximum", 1))
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return "sample".ljust(int(schema.get("minLength", 0)), ".")[: schema.get("maxLength")]


def _resolved(reference: str, root: Schema) -> Schema:
    part: Any = root
    for name in reference.removeprefix("#/").split("/"):
        part = part[name]
    return part
