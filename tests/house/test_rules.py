"""Names, sizes, and what must not stand in the source."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .source import NOUNS, PACKAGE, ROOT, imports_of, modules, tree_of

NAMELESS = {"util", "utils", "core", "common", "helper", "helpers", "misc", "base_utils", "lib", "stuff"}
LINES, FUNCTION_LINES, MOST_FILES = 400, 70, 16
RUNS_CODE = {"pickle", "cPickle", "marshal", "dill", "cloudpickle", "shelve", "jsonpickle"}
SPOKEN = {"print", "exit", "quit", "sys.exit", "os._exit", "input"}
SPEAKS = ("cli", "web", "__main__.py")

every_module = pytest.mark.parametrize("path", modules(), ids=str)


def everything_but_the_main_block(path: Path) -> Iterator[ast.AST]:
    """The nodes of a module, without what runs only as ``python -m``."""
    for statement in tree_of(path).body:
        test = statement.test if isinstance(statement, ast.If) else None
        if not (isinstance(test, ast.Compare) and ast.unparse(test).startswith("__name__")):
            yield from ast.walk(statement)


def test_every_file_has_a_name_that_says_something() -> None:
    for path in [*modules(), *(p.relative_to(ROOT) for p in (ROOT / "tests").rglob("*.py"))]:
        assert not NAMELESS & {part.removesuffix(".py") for part in path.parts}, path


def test_the_six_nouns_are_folders_and_name_nothing_else() -> None:
    folders = {path.parts[0] for path in modules() if len(path.parts) > 1}
    assert set(NOUNS) <= folders
    for path in modules():
        # A command, a job, an engine's step or a table of that name is a file.
        named_after = path.parts[0] in ("cli", "jobs") or path.parts[:1] == ("engines",)
        assert path.stem not in NOUNS or named_after, path


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path}:{node.lineno}")
    assert len(places) > 100
    several = {name: where for name, where in places.items() if len(where) > 1}
    assert not several


def test_no_folder_has_more_files_than_one_can_overlook() -> None:
    sizes = Counter(str(path.parent) for path in modules())
    assert max(sizes.values()) <= MOST_FILES, sizes.most_common(3)


@every_module
def test_files_and_functions_are_short_enough_to_read(path: Path) -> None:
    assert len((PACKAGE / path).read_text("utf-8").splitlines()) <= LINES
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES, f"{node.name} has {length} lines"


@every_module
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(tree_of(path)) or not tree_of(path).body


@every_module
def test_nothing_read_from_a_file_is_run(path: Path) -> None:
    assert not RUNS_CODE & {name.split(".")[0] for name in imports_of(path)}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile", "__import__"}, ast.unparse(node)
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant), ast.unparse(node)
            assert node.value.value is False, ast.unparse(node)
        if isinstance(node, ast.keyword) and node.arg == "shell":
            assert ast.unparse(node.value) == "False", "no shell is started"


@every_module
def test_the_library_raises_and_never_speaks(path: Path) -> None:
    if path.parts[0] in SPEAKS:
        return
    for node in everything_but_the_main_block(path):
        assert not isinstance(node, ast.Assert), f"line {node.lineno}: raise an error instead"
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            assert name not in SPOKEN, f"line {node.lineno}: {name}"


@every_module
def test_nothing_is_left_undone(path: Path) -> None:
    text = (PACKAGE / path).read_text("utf-8")
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b|\braise NotImplementedError\b", text)
