"""Messages of the service: faults of a body in plain words, and options by the names that a request has for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NEEDS = {
    "extra_forbidden": "there is no such field; /openapi.json lists the fields",
    "missing": "this field is missing",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
}
"""What a value must be, by the type of the fault; values in braces are bounds."""

_FIELD = re.compile(r"(?<![\w'\"-])--([a-z][a-z-]*[a-z])\b")


def describe_fault(fault: Mapping[str, Any]) -> str:
    """Describe a fault that Pydantic has found in a body.

    Examples
    --------
    >>> describe_fault({"type": "less_than_equal", "loc": ("k",), "msg": "", "ctx": {"le": 10000}})
    'k: must be at most 10,000'
    >>> describe_fault({"type": "extra_forbidden", "loc": ("limit",), "msg": ""})
    'limit: there is no such field; /openapi.json lists the fields'
    """
    where = ".".join(str(one) for one in fault["loc"])
    needs = _NEEDS.get(fault["type"])
    bounds = {name: _number(value) for name, value in fault.get("ctx", {}).items()}
    what = fault["msg"] if needs is None else needs.format(**bounds)
    return f"{where}: {what}" if where else str(what)


def _number(value: Any) -> str:
    whole = isinstance(value, (int, float)) and value == int(value)
    return f"{int(value):,}" if whole else str(value)


def name_fields(message: str) -> str:
    """Return a message with the fields and parameters of a request in place of flags, keyword arguments and commands.

    Examples
    --------
    >>> name_fields("accept the lower recall with --force")
    'accept the lower recall with "force": true'
    >>> name_fields("give a distance (--distance), or replace it with twinset index update")
    'give a distance ("distance"), or replace it with ?replace=true'
    """
    for words in ("--force", "force=True"):
        message = message.replace(words, '"force": true')
    message = message.replace("twinset index update", "?replace=true")
    return _FIELD.sub(lambda found: f'"{found[1].replace("-", "_")}"', message)
