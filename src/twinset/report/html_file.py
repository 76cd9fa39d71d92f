"""Assemble a page from its template, style and scripts: one HTML file that loads nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

import orjson


@dataclass(frozen=True)
class PageFrame:
    """What surrounds the sections of a page; all values are HTML.

    Attributes
    ----------
    kind
        What the page is, such as ``report``.
    nav
        Links in the header: the id of a section, and its title.
    keys
        Keys that act on the page: the names of the keys, and what they do.
    scripted
        What needs scripts, with its verb: "The lists need".
    """

    kind: str
    name: str
    version: str
    lead: str
    figures: str
    nav: Mapping[str, str]
    keys: Mapping[str, str]
    scripted: str


def html_file(
    template: str, frame: PageFrame, values: Mapping[str, str], data: Mapping[str, Any], pictures: bool = False
) -> bytes:
    """Fill a template; `values` are its HTML, escaped by the caller, and `data` is for its script.

    All pages share `frame.html`, `page.css` and `lists.js`; a page adds its sections and its script, and may add a
    style.
    """
    style = "".join(_read(file) for file in dict.fromkeys(("page.css", f"{template}.css")))
    # In a function of its own the names of the scripts are not properties of the window.
    script = f'"use strict";\n(() => {{\n{_read("lists.js")}\n{_read(f"{template}.js")}}})();\n'
    keys = ((" ".join(f"<kbd>{key}</kbd>" for key in pressed.split()), does) for pressed, does in frame.keys.items())
    page = {
        **{field.name: getattr(frame, field.name) for field in fields(frame)},
        "nav": "".join(f'<a href="#{section}">{title}</a>' for section, title in frame.nav.items()),
        "keys": " ".join(f"{pressed} {does}" for pressed, does in keys),
        "sections": filled(_read(f"{template}.html"), values),
        "policy": policy(style, script, pictures),
        "style": style,
        "script": script,
        "data": as_json(data),
    }
    return filled(_read("frame.html"), page).encode("utf-8", "replace")


def policy(style: str, script: str, pictures: bool = False) -> str:
    """The content-security policy: this style and this script, by their digests, and nothing else.

    Pictures, if any, may only be embedded in the page. Scripts may not turn strings into markup (trusted types).
    """
    shown = "img-src data:; " if pictures else ""
    return (
        f"default-src 'none'; {shown}script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )


def as_json(values: Mapping[str, Any]) -> str:
    """Return JSON that can neither close its script element nor begin a comment in it.

    Examples
    --------
    >>> as_json({"text": "</script><!-- & \\u2028"})
    '{"text":"\\\\u003c/script\\\\u003e\\\\u003c!-- \\\\u0026 \\\\u2028"}'
    """
    text = orjson.dumps(values).decode()
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Fill the placeholders of a template in one pass: inserted text is not expanded again.

    Examples
    --------
    >>> filled("<p>{{a}} {{b}}</p>", {"a": "{{b}}", "b": "2"})
    '<p>{{b}} 2</p>'
    """
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _read(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")
