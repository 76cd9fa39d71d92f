"""Texts of chats: the contents of the messages in order, each on a new line; roles are not part of the text.

A message is an object with a `content` (or `value`), which is a text or a list of parts. A part is a text or an object
with a `text`; parts without one, such as pictures, are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.options.checks import shown_value

_KEYS = ("content", "value", "text")
_DEEPEST = 4  # messages, message, parts, part
_LINE_BREAK = pa.scalar(b"\n", pa.large_binary())
_NOT_CHAT = "only a list of messages, each with a content, is a text"


def chat_text(value: Any) -> str:
    """Return the text of a chat; raise `ValueError` if the value is not a chat.

    Examples
    --------
    >>> chat_text([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": [{"text": "Hi."}]}])
    'Hello\\nHi.'
    """
    messages = [value] if isinstance(value, dict) else value
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise ValueError(_NOT_CHAT)
    if messages and not any(key in one for one in messages for key in _KEYS):
        raise ValueError(_NOT_CHAT)
    return _content(messages, _DEEPEST) or ""


def is_chat(value: Any) -> bool:
    """Whether a value of JSON is a chat.

    >>> is_chat([{"content": "Hello"}]), is_chat("Hello"), is_chat([1])
    (True, False, False)
    """
    try:
        chat_text(value)
    except ValueError:
        return False
    return True


def no_chats(name: str) -> str:
    """Say that the text of a chat cannot be replaced."""
    return f"the text {shown_value(name)} is a list of messages, which cannot be changed; name one string with --text"


def _content(value: Any, depth: int) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict) and depth:
        return next((_content(value[key], depth - 1) for key in _KEYS if value.get(key) is not None), None)
    if isinstance(value, list) and depth:
        return "\n".join(text for one in value if (text := _content(one, depth - 1)) is not None)
    raise ValueError(_NOT_CHAT)


def holds_chats(kind: Any) -> bool:
    """Whether values of an Arrow type are chats: lists of messages, or single ones.

    Examples
    --------
    >>> holds_chats(pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())])))
    True
    >>> holds_chats(pa.list_(pa.string())), holds_chats(pa.struct([("n", pa.int64())]))
    (False, False)
    """
    return pa.types.is_struct(kind.value_type if _is_list(kind) else kind) and _holds_text(kind)


def _holds_text(kind: Any) -> bool:
    types = pa.types
    if types.is_struct(kind):
        return any(one.name in _KEYS and _holds_text(one.type) for one in kind)
    if _is_list(kind):
        return _holds_text(kind.value_type)
    if types.is_dictionary(kind):
        return _holds_text(kind.value_type)
    leaves = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    return any(is_leaf(kind) for is_leaf in leaves)


def _is_list(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def chat_texts(array: Any) -> Any:
    """Return the texts of an array of chats, as bytes.

    Examples
    --------
    >>> chats = pa.array([[{"role": "user", "content": "Hello"}, {"role": "tool", "content": None}], [], None])
    >>> chat_texts(chats).to_pylist()
    [b'Hello', b'', None]
    """
    if pa.types.is_struct(array.type):
        fields = {one.name: at for at, one in enumerate(array.type) if one.name in _KEYS and _holds_text(one.type)}
        return pc.coalesce(*(chat_texts(pc.struct_field(array, [fields[key]])) for key in _KEYS if key in fields))
    if _is_list(array.type):
        return _joined(array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(pa.large_string() if pa.types.is_string_view(array.type) else array.type).cast(pa.large_binary())


def _joined(lists: Any) -> Any:
    """Join the texts of each list; those that are null are left out."""
    if pa.types.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.large_list(lists.type.value_type))
    starts = lists.offsets.to_numpy().astype(np.int64)
    first, last = (int(starts[0]), int(starts[-1])) if len(starts) else (0, 0)
    texts = chat_texts(lists.values.slice(first, last - first))
    before = np.concatenate([[0], np.cumsum(np.asarray(texts.is_valid(), np.int64))])
    joined = pc.binary_join(
        pa.LargeListArray.from_arrays(pa.array(before[starts - first]), texts.drop_null()), _LINE_BREAK
    )
    return pc.if_else(lists.is_valid(), joined, pa.scalar(None, joined.type)) if lists.null_count else joined
