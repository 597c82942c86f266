"""Made-up structured output fits the schema it is made from, judged by the jsonschema library."""

from typing import Any

import jsonschema
import pytest

from claude_sdk_pattern.model_gateway.scripted.schema_sample import misfit, sample


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string", "minLength": 9}}, "required": ["a"]},
        {"type": "array", "items": {"type": "integer", "minimum": 5}, "minItems": 3},
        {"type": ["string", "null"], "maxLength": 3},
        {"enum": ["x", "y"]},
        {"const": 7},
        {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
        {"type": "number", "maximum": -4},
        {"type": "null"},
        {
            "$defs": {"part": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}},
            "type": "object",
            "properties": {"parts": {"type": "array", "items": {"$ref": "#/$defs/part"}}},
            "required": ["parts"],
        },
    ],
)
def test_the_sample_fits_the_schema(schema: dict[str, Any]) -> None:
    jsonschema.validate(sample(schema), schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"enum": [1, 2]}}},
    ],
)
def test_the_misfit_does_not_fit_the_schema(schema: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(misfit(schema), schema)
