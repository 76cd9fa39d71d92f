"""The pages of the API: exactly the public names, each with its signature and its example."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import twinset
from twinset import errors, textbook
from website import reference
from website.markdown import headings

ROOT = Path(__file__).resolve().parents[2]
PAGES = reference.pages(ROOT)
PUBLIC = [name for name in twinset.__all__ if not name.startswith("__")]


def names_on(page: object, level: int) -> list[str]:
    """The names that have a heading of this level on a page."""
    return [text.strip("`") for depth, text, _ in headings(PAGES[page]) if depth == level]  # type: ignore[index]


def text_on(page: object, name: str) -> str:
    """What a page says of a name."""
    parts = re.split(r"(?m)^#{2,3} `(.+)`$", PAGES[page])  # type: ignore[index]
    return dict(zip(parts[1::2], parts[2::2], strict=True))[name]


def test_the_pages_have_exactly_the_public_names() -> None:
    three = (reference.FUNCTIONS, reference.CLASSES, reference.ERRORS)
    on_pages = [name for page in three for name in names_on(page, 2)]
    assert sorted(on_pages) == sorted(PUBLIC)
    assert sorted(names_on(reference.TEXTBOOK, 3)) == sorted(textbook.__all__)


def test_the_page_on_spark_has_exactly_its_public_names() -> None:
    pytest.importorskip("pyspark")
    import twinset.spark

    assert sorted(names_on(reference.SPARK, 2)) == sorted(twinset.spark.__all__)
    for name in ("dedup", "find_pairs", "sketch"):
        assert "frame = session.createDataFrame" in text_on(reference.SPARK, name)


def place_of(name: str) -> object:
    if name in errors.__all__:
        return reference.ERRORS
    return reference.FUNCTIONS if name[0].islower() else reference.CLASSES


WITHOUT = {"BusyError", "CacheWarning", "NormalizationWarning", "VerdictChangedError"}
"""What only another process, another person, another user or another Arrow brings about."""
DOCUMENTED = [
    *((place_of(name), name, getattr(twinset, name)) for name in PUBLIC if name != "pairs"),
    *((reference.TEXTBOOK, name, getattr(textbook, name)) for name in textbook.__all__ if name[0].islower()),
]


@pytest.mark.parametrize(("page", "name", "meant"), DOCUMENTED, ids=[name for _, name, _ in DOCUMENTED])
def test_a_name_is_shown_as_it_is(page: object, name: str, meant: Any) -> None:
    shown = text_on(page, name)
    documented = inspect.getdoc(meant) or ""
    summary = documented.split("\n\n")[0].replace("``", "`")
    assert summary in shown
    example = [line.strip() for line in documented.splitlines() if line.startswith((">>>", "..."))]
    assert [line for line in shown.splitlines() if line.startswith((">>>", "..."))] == example
    assert example or name in WITHOUT, f"{name} has no example"
    if inspect.isfunction(meant):
        signature = re.sub(r"\s", "", shown.split("```")[1].removeprefix("python"))
        for parameter in inspect.signature(meant).parameters.values():
            assert f"{parameter.name}:" in signature


def test_an_alias_leads_to_its_name() -> None:
    assert "Another name of [`find_pairs`](#find_pairs)." in text_on(reference.FUNCTIONS, "pairs")


def test_methods_are_shown_with_their_classes() -> None:
    members = names_on(reference.CLASSES, 3)
    assert {"Index.create", "Index.add", "Index.query", "VectorIndex.search", "Client.query"} <= set(members)
    assert not [name for name in members if "._" in name and "__" not in name]
    for name in members:
        owner, _, method = name.partition(".")
        assert hasattr(getattr(twinset, owner), method), name


def test_the_tree_of_errors_is_drawn() -> None:
    for name in errors.__all__:
        assert re.search(rf"── {name} ", PAGES[reference.ERRORS]) or name == "TwinsetError"
