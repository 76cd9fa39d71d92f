"""Every function and class of the package is used by the package, or documented for those who use it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache

import pytest

from .source import ROOT, modules, tree_of

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def references(tree: ast.AST) -> Counter[str]:
    """The names that a piece of code uses. An import alone, or `__all__`, is no use."""
    return Counter(name for name in map(referenced, ast.walk(tree)) if name)


def referenced(node: ast.AST) -> str | None:
    """The name that a node uses; a string ``"module:name"`` names what is imported when it is needed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w.]+:\w+", node.value):
        return node.value.split(":")[1]
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)


@cache
def used_in_package() -> Counter[str]:
    return sum((references(tree_of(path)) for path in modules()), Counter())


@cache
def documented() -> frozenset[str]:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return frozenset(word for page in pages for word in re.findall(r"\w+", page.read_text("utf-8")))


def unused(tree: ast.Module) -> list[str]:
    """The functions and classes of a module that only they themselves, or nobody, uses."""
    found = []
    for node in tree.body:
        if isinstance(node, DEFINITIONS) and not node.name.startswith("__"):
            registered = any("register" in ast.unparse(one) for one in node.decorator_list)
            used = used_in_package()[node.name] > references(node)[node.name]
            if not (used or registered or node.name in documented()):
                found.append(node.name)
    return found


@pytest.mark.parametrize("path", [path for path in modules() if path.parts[0] != "textbook"], ids=str)
def test_nothing_is_defined_that_nobody_uses(path: object) -> None:
    """The textbook is for readers and for tests."""
    assert unused(tree_of(path)) == []  # type: ignore[arg-type]


def test_what_nobody_uses_is_noticed() -> None:
    tree = ast.parse("def never_mentioned_anywhere():\n    never_mentioned_anywhere()\n")
    assert unused(tree) == ["never_mentioned_anywhere"]
