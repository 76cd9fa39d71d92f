"""Paths that pages and docstrings name lead to files of the package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from .source import PACKAGE, ROOT, modules, tree_of

PAGES = sorted((ROOT / "docs").glob("*.md"))
NAMED = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|txt|js|css|html))?)`")
DOTTED = re.compile(r"`(twinset(?:\.[a-z_]+)+)`")
ELSEWHERE = ("kept/", "sources/", "docs/", "tests/", "examples/", "benchmarks/", "src/", "out/", "site/", "source/")


def exists(name: str) -> bool:
    return name.startswith(ELSEWHERE) or (PACKAGE / name).exists() or (ROOT / name).is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_on_a_page_exist(page: Path) -> None:
    missing = {name for name in NAMED.findall(page.read_text("utf-8")) if not exists(name)}
    assert not missing


@pytest.mark.parametrize("path", modules(), ids=str)
def test_modules_that_docstrings_name_exist(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            for name in DOTTED.findall(ast.get_docstring(node) or ""):
                assert leads_somewhere(name), f"{path}: {name}"


def leads_somewhere(name: str) -> bool:
    """Whether a dotted name is a module, or a public name of one."""
    *folders, last = name.split(".")[1:]
    place = PACKAGE.joinpath(*folders)
    if (place / last).is_dir() or (place / f"{last}.py").exists():
        return True
    file = place.with_suffix(".py") if place.with_suffix(".py").exists() and folders else place / "__init__.py"
    return file.exists() and re.search(rf"\b{last}\b", file.read_text("utf-8")) is not None
