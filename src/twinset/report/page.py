"""Write the report as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from twinset.errors import OptionError
from twinset.options.checks import new_file
from twinset.options.results import ReportOptions
from twinset.report import sections
from twinset.report.excerpts import lists
from twinset.report.numbers import Numbers
from twinset.results.stored import StoredResult
from twinset.system.atomic_files import replace_atomically
from twinset.system.scratch import cannot_write

ENDINGS = (".html", ".htm")


def write_report(recorded: StoredResult, path: Path | str, options: ReportOptions) -> Path:
    """Write the report of a result atomically."""
    output = Path(path)
    if output.suffix.lower() not in ENDINGS:
        raise OptionError(f"the report is {str(output)!r}; allowed: a name that ends in {' or '.join(ENDINGS)}")
    new_file(output, options.force)
    page = render(recorded, options)
    with replace_atomically(output) as new:
        try:
            new.write_bytes(page)
        except OSError as error:
            raise cannot_write(output, error) from error
    return output


def render(recorded: StoredResult, options: ReportOptions) -> bytes:
    """Render the page."""
    numbers = Numbers(recorded)
    style, script = _read("page.css"), _read("page.js")
    data = {
        "folder": str(recorded.folder),
        "threshold": recorded.options.threshold,
        "unit": "bit" if numbers.measure == "bits" else "",
        "noun": numbers.noun,
        **lists(numbers, options),
    }
    return filled(
        _read("page.html"),
        {
            "policy": policy(style, script, pictures="pictures" in data),
            "version": escape(str(numbers.summary["version"])),
            "name": escape(_name(recorded)),
            "lead": sections.lead(numbers),
            "figures": sections.figures(numbers),
            "sure": sections.sure(numbers),
            "similarity": sections.similarity(numbers),
            "score": numbers.score,
            "Score": numbers.score.capitalize(),
            "noun": numbers.noun,
            "sought": sections.sought(numbers, options),
            "clusters": sections.clusters(numbers, options),
            "removed_title": f"{'Flagged' if recorded.options.flag else 'Removed'} {numbers.noun}s",
            "removed": sections.removed(numbers, options),
            "done": sections.done(numbers),
            "style": style,
            "script": script,
            "data": as_json(data),
        },
    ).encode("utf-8", "replace")


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


def _name(recorded: StoredResult) -> str:
    return recorded.folder.resolve().name or str(recorded.folder)
