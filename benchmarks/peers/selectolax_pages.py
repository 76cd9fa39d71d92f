"""The text of pages by selectolax, which has no notion of main content: all but elements that are navigation by name.

With `--main` beside the usual words it writes the text of the element that the column `selector` names instead.
"""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import re
import sys

import pyarrow as pa
import pyarrow.parquet as pq
from selectolax.lexbor import LexborHTMLParser

from benchmarks.peers.pages_contest import run

_LEFT_OUT = ["script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form", "button"]
_CHARSET = re.compile(rb"""charset=["']?([\w-]+)""")


def _tree(page: bytes) -> LexborHTMLParser:
    found = _CHARSET.search(page[:2048])
    return LexborHTMLParser(page.decode(found[1].decode() if found else "utf-8", "replace"))


def extract(page: bytes) -> str:
    tree = _tree(page)
    tree.strip_tags(_LEFT_OUT, recursive=True)
    return str(tree.body.text(separator="\n")) if tree.body is not None else ""


def main_element(page: bytes, selector: str) -> str | None:
    tree = _tree(page)
    tree.strip_tags(["script", "style", "template"], recursive=True)
    node = tree.css_first(selector)
    return None if node is None else str(node.text(separator=" "))


if __name__ == "__main__":
    if "--main" in sys.argv:
        _, pages, texts, *_ = sys.argv
        rows = pq.read_table(pages).select(["html", "selector"]).to_pylist()
        found = [main_element(row["html"], row["selector"]) for row in rows]
        pq.write_table(pa.table({"text": pa.array(found, pa.large_string())}), texts)
        print("{}")
    else:
        run(extract)
