"""JSON Schemas of the arguments of workflows, for forms and for checks before a start.

They describe the JSON form that values are recorded in (``flowli.codec``), which pydantic's own differs from in places.
"""

from __future__ import annotations

import inspect
from enum import Enum
from functools import lru_cache
from typing import Any, cast

from pydantic import JsonValue, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from flowli import codec
from flowli.codec.hints import enum_by_value
from flowli.codec.signatures import callee
from flowli.runtime.registry import Workflow
from flowli.timestamp import Timestamp

__all__ = ["argument_schema", "result_schema"]

_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@lru_cache(maxsize=1024)
def argument_schema(workflow: Workflow) -> dict[str, JsonValue]:
    """The arguments of a workflow by name, as an object schema (2020-12).

    ``x-flowli-positional`` lists the names that can be given by place, in their order. A parameter whose type has no
    schema takes anything; what does not fit is then refused by the start itself.
    """
    target = callee(workflow.fn).without_first()
    properties: dict[str, JsonValue] = {}
    required: list[JsonValue] = []
    positional: list[JsonValue] = []
    definitions: dict[str, JsonValue] = {}
    more: JsonValue = False
    for name, parameter in target.signature.parameters.items():
        hint = target.hints.get(name, Any)
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            more = _schema(hint, definitions)
        if parameter.kind in _VARIABLE:
            continue
        found = _schema(hint, definitions)
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        else:
            found = {**found, **_default(hint, parameter.default)}
        properties[name] = {"title": name.replace("_", " "), **found}
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            positional.append(name)
    schema: dict[str, JsonValue] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": workflow.name,
        "properties": properties,
        "required": required,
        "additionalProperties": more,
        "x-flowli-positional": positional,
    }
    return {**schema, "$defs": definitions} if definitions else schema


def result_schema(workflow: Workflow) -> dict[str, JsonValue]:
    """The schema of what a workflow returns; empty if it does not say."""
    definitions: dict[str, JsonValue] = {}
    schema = _schema(callee(workflow.fn).hints.get("return", Any), definitions)
    return {**schema, "$defs": definitions} if definitions else schema


class _Recorded(GenerateJsonSchema):
    """Schemas of recorded values where pydantic would write another form."""

    def bytes_schema(self, schema: core_schema.BytesSchema) -> dict[str, Any]:
        """Base64."""
        return {"type": "string", "contentEncoding": "base64"}

    def enum_schema(self, schema: core_schema.EnumSchema) -> dict[str, Any]:
        """By name, if the values are not all texts or all integers."""
        cls: type[Enum] = schema["cls"]
        if enum_by_value(cls):
            return super().enum_schema(schema)
        return {"title": cls.__name__, "enum": list(cls.__members__), "type": "string"}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        """An instant is a text, although its class has a field."""
        if schema["cls"] is Timestamp:
            return {"type": "string", "format": "date-time"}
        return super().dataclass_schema(schema)

    def encode_default(self, dft: Any) -> Any:
        """As it is recorded."""
        return codec.to_data(dft, type(dft))


def _schema(hint: Any, definitions: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        adapter = TypeAdapter[Any](hint)
        found = adapter.json_schema(ref_template="#/$defs/{model}", schema_generator=_Recorded)
        made = cast("dict[str, JsonValue]", found)
    except Exception:  # a type that pydantic knows nothing of, attrs classes for one
        return {}
    definitions.update(cast("dict[str, JsonValue]", made.pop("$defs", {})))
    return made


def _default(hint: Any, default: object) -> dict[str, JsonValue]:
    try:
        return {"default": codec.to_data(default, hint)}
    except Exception:  # it has no JSON form; that there is one is told by its absence among the required
        return {}
