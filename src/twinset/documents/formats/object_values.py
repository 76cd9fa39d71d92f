"""Read and check the values of an object: item, id and partition.

Text that does not decode does not make a row malformed. Such a row is an `EscapedRow` (its strings hold the invalid
bytes as escapes) or a `ReplacedRow` (its strings hold U+FFFD instead).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from twinset.documents.fields import MISSING, value_at
from twinset.documents.items.chat import chat_text
from twinset.documents.items.pack import json_type, json_value, packed
from twinset.options import ReadOptions
from twinset.options.checks import shown_names, shown_value

_REPLACED = "\ufffd".encode()


OTHER_IDS = "name another column with --id NAME, or name rows by their position with --no-id"
"""What to do about rows without an id."""


class MalformedRow(Exception):
    """A row that cannot be used, with the reason."""


class EscapedRow(dict[str, Any]):
    """A row with invalid UTF-8: its strings hold the invalid bytes as escapes (`surrogateescape`)."""


class ReplacedRow(dict[str, Any]):
    """A row with bytes that its encoding does not have, or halves of surrogate pairs, replaced by U+FFFD."""


def was_replaced(values: dict[str, Any]) -> bool:
    """Whether bytes of a row were replaced by U+FFFD."""
    return isinstance(values, ReplacedRow)


def holds_replaced(item: Any) -> bool:
    """Whether the compared values of such a row hold replaced bytes, not only its other keys."""
    if item is None or isinstance(item, str):
        return item is not None and "\ufffd" in item
    return any(_REPLACED in one if isinstance(one, bytes) else "\ufffd" in repr(one) for one in item)


def item_value(values: dict[str, Any], options: ReadOptions) -> Any:
    """The text of a row, or the value of each column of other kinds of items."""
    if isinstance(options.text, str) and options.item_kind == "text":
        return _text(values, options.text)
    columns = []
    for name in options.item_columns:
        value = value_at(values, name)
        if value is MISSING:
            keys = shown_names(list(values))
            flag = options.flag_of(name)
            raise MalformedRow(f"there is no key {shown_value(name)}, which {flag} names; the keys are {keys}")
        try:
            columns.append(json_value(options, name, value))
        except ValueError as error:
            of_kind = _is_of_kind(options, name, value)
            raise MalformedRow(f"{error}{'' if of_kind else f', not a {kind_of_value(value)}'}") from error
    return columns


def item_array(items: list[Any], options: ReadOptions) -> tuple[Any, list[tuple[int, str]]]:
    """The values of `item_value` as one array, and the rows without an item."""
    if options.item_kind == "text":
        return _text_array(items), []
    columns = [
        pa.array([None if item is None else item[at] for item in items], json_type(options, name))
        for at, name in enumerate(options.item_columns)
    ]
    return packed(options, columns)


def id_value(values: dict[str, Any], key: str) -> str:
    """The id of a row, as a string."""
    value = values.get(key, MISSING)
    if value is MISSING:
        value = value_at(values, key)
    if type(value) is int:
        return str(value)
    if isinstance(value, str):
        if _undecoded(values, value):
            raise MalformedRow(f"the id {key!r} is not {_encoding_of(values)}")
        return value
    problem = "but is missing" if value is MISSING else f"not {value}" if isinstance(value, float) else ""
    problem = problem or f"not {'' if value is None or isinstance(value, bool) else 'a '}{kind_of_value(value)}"
    raise MalformedRow(f"the id {shown_value(key)} must be a string or a whole number, {problem}; {OTHER_IDS}")


def partition_value(values: dict[str, Any], key: str) -> str | None:
    """The value of ``--by`` of a row, as a string."""
    value = value_at(values, key)
    if value is MISSING:
        raise MalformedRow(f"there is no key {shown_value(key)}, which --by names")
    if value is None:
        return None
    if isinstance(value, str):
        if _undecoded(values, value):
            raise MalformedRow(f"the value of {key!r}, which --by names, is not {_encoding_of(values)}")
        return value
    if isinstance(value, (bool, int, float)):
        return str(pa.scalar(value).cast(pa.string()).as_py()) if type(value) is not int else str(value)
    raise MalformedRow(f"--by needs a string or a number in {key!r}, not a {kind_of_value(value)}")


def clean_value(values: dict[str, Any], key: str) -> Any:
    """The value of a key with U+FFFD for invalid bytes; None where there is none."""
    value = value_at(values, key)
    if value is MISSING:
        return None
    if isinstance(values, EscapedRow) and isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return value


def kind_of_value(value: Any) -> str:
    """Name of a value's type in messages."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "null" if value is None else "list" if isinstance(value, list) else "JSON object"


def _text(values: dict[str, Any], key: str) -> str | bytes | None:
    text = values.get(key, MISSING)
    if not isinstance(text, str) and text is not None:
        text = _other_text(values, key)
    return _bytes(text) if text is not None and isinstance(values, EscapedRow) else text


def _other_text(values: dict[str, Any], key: str) -> str | None:
    """The text of a path, or of a chat."""
    text = value_at(values, key)
    if text is None or isinstance(text, str):
        return text
    shown = shown_value(key)
    if isinstance(text, (list, dict)):
        try:
            return chat_text(text)
        except ValueError as error:
            raise MalformedRow(f"the text {shown} must be a string, not a {kind_of_value(text)}: {error}") from error
    if text is MISSING:
        keys = shown_names(list(values))
        raise MalformedRow(f"there is no key {shown}; the keys are {keys}: name the key of the text with --text NAME")
    raise MalformedRow(f"the text {shown} must be a string, not a {kind_of_value(text)}")


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise MalformedRow("not JSON: an unpaired surrogate") from None


def _text_array(texts: list[Any]) -> Any:
    if any(isinstance(text, bytes) for text in texts):
        return pa.array([text.encode() if isinstance(text, str) else text for text in texts], pa.binary())
    return pa.array(texts, pa.string())


def _is_of_kind(options: ReadOptions, name: str, value: Any) -> bool:
    """Whether an unusable value is at least a list, string or number, as required."""
    if options.group is not None:
        return isinstance(value, (int, float) if name == options.weight else str)
    lists = options.items is not None or options.vectors is not None
    return isinstance(value, list if lists else (str, int))


def _undecoded(values: dict[str, Any], value: str) -> bool:
    """Whether a string of a row holds invalid bytes."""
    if isinstance(values, EscapedRow):
        return not _encodes(value)
    return isinstance(values, ReplacedRow) and "\ufffd" in value


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encoding_of(values: dict[str, Any]) -> str:
    return "UTF-8" if isinstance(values, EscapedRow) else "in the encoding of the file"
