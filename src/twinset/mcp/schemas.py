"""JSON schemas of the arguments and the answers of tools, derived from options and from Arrow schemas."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from twinset.options.checks import OptionSpec
from twinset.options.web.mcp import ToolArguments

JsonSchema = dict[str, Any]

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}


def arguments_schema(arguments: type[ToolArguments]) -> JsonSchema:
    """Return the schema of the arguments of a tool.

    Examples
    --------
    >>> from twinset.options.web.mcp import SummaryArguments
    >>> arguments_schema(SummaryArguments)["required"]
    ['result']
    """
    defaults = arguments.defaults()
    properties = {name: _argument(spec, defaults[name]) for name, spec in arguments.specs()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(arguments.required),
        "additionalProperties": False,
    }


def _argument(spec: OptionSpec, default: Any) -> JsonSchema:
    """Return the schema of one argument, from the description of its option."""
    check = spec.check
    text = spec.help
    if check.in_help and not check.choices:
        text += f" Allowed: {check.brief or check.allowed}."
    if spec.default_text:
        text += f" Default: {spec.default_text}."
    schema: JsonSchema = {"type": _TYPES[check.type], "description": text.replace("--", "")}
    if check.choices:
        schema["enum"] = list(check.choices)
    if default is not None:
        schema["default"] = default
    return schema


def values(description: str, kind: type, *, null: bool = False) -> JsonSchema:
    """Return the schema of a value."""
    name = _TYPES[kind]
    return {"type": [name, "null"] if null else name, "description": description}


def record(properties: JsonSchema, description: str = "") -> JsonSchema:
    """Return the schema of an object that has all of these properties."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {**schema, "description": description} if description else schema


def rows_of(description: str, properties: JsonSchema, required: bool = True) -> JsonSchema:
    """Return the schema of a list of rows."""
    row: JsonSchema = {"type": "object", "properties": properties}
    if required:
        row["required"] = list(properties)
    return {"type": "array", "description": description, "items": row}


def columns(schema: pa.Schema) -> JsonSchema:
    """Return the properties of a row of a table.

    Examples
    --------
    >>> columns(pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("share", pa.float64())]))
    {'id': {'type': 'string'}, 'share': {'type': ['number', 'null']}}
    """
    return {
        field.name: {"type": [_column(field.type), "null"] if field.nullable else _column(field.type)}
        for field in schema
    }


def _column(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    return "number" if pa.types.is_floating(kind) else "string"
