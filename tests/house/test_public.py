"""The public names: exactly those, each documented with an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import twinset
from twinset import errors, plan, textbook

from .source import ROOT, modules, name_of

ERRORS = {
    "BusyError",
    "CacheWarning",
    "ColumnError",
    "DamagedError",
    "DuplicateIdError",
    "FetchError",
    "MissingError",
    "NormalizationWarning",
    "OptionError",
    "OutputError",
    "PlanWarning",
    "RowError",
    "SourceError",
    "SourceWarning",
    "StateError",
    "TwinsetError",
    "UnknownIdError",
    "VerdictChangedError",
}
EXACTLY = {
    "Client",
    "Index",
    "Plan",
    "SimHashes",
    "Sketches",
    "VectorIndex",
    "__version__",
    "collapse",
    "compare",
    "dedup",
    "evaluate",
    "explain",
    "find_pairs",
    "find_passages",
    "open_result",
    "pairs",
    "plan",
    "recut",
    "register",
    "report",
    "sketch",
    "trim",
    "warm",
    *ERRORS,
}
FUNCTIONS = [
    (module, name) for module in (twinset, textbook) for name in module.__all__ if name[0].islower()
]


def test_the_public_names_are_exactly_these() -> None:
    assert set(twinset.__all__) == EXACTLY
    assert set(errors.__all__) == ERRORS
    assert list(twinset.__all__) == sorted(twinset.__all__)
    assert dir(twinset) == sorted(EXACTLY)
    for name in twinset.__all__:
        assert getattr(twinset, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        twinset.nonsense  # noqa: B018 - asking for it is the test


def test_the_version_is_written_once() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", twinset.__version__)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert 'dynamic = ["version"]' in project
    assert twinset.__version__ not in re.sub(r'".*[<>=].*"', "", project)


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=[name for _, name in FUNCTIONS])
def test_every_public_function_is_documented_with_an_example(module: ModuleType, name: str) -> None:
    function = getattr(module, name)
    assert isinstance(function, FunctionType)
    text = inspect.getdoc(function) or ""
    assert ">>>" in text
    assert "Examples\n--------" in text
    assert all(p.annotation is not p.empty for p in inspect.signature(function).parameters.values())


@pytest.mark.parametrize("first", ["", "from twinset.pairs.sets import Sets; ", "import twinset.report.page; "])
def test_commands_are_functions_whatever_is_imported_first(first: str) -> None:
    program = f"{first}import twinset; print(twinset.pairs is twinset.find_pairs, callable(twinset.report), "
    program += "callable(twinset.plan))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 3
    module = importlib.import_module("twinset.pairs.sets")
    assert module is sys.modules["twinset.pairs.sets"]


def test_the_plan_takes_the_words_of_its_options() -> None:
    assert set(inspect.signature(plan).parameters) <= {name for name, _ in _plan_options().specs()}


def _plan_options() -> type:
    from twinset.options import PlanOptions

    return PlanOptions


def test_the_first_page_names_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    text = (ROOT / "README.md").read_text("utf-8")
    assert f"pip install '.[{','.join(sorted(extras.keys() - {'test', 'dev', 'site'}))}]'" in text


def test_the_tree_of_errors_is_drawn() -> None:
    assert isinstance(errors, ModuleType)
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert name in (errors.__doc__ or "")
        assert issubclass(kind, (errors.TwinsetError, UserWarning))


ELSEWHERE = {"__main__", "spark"}
"""The examples of `twinset.spark` need a session: tests/engines/spark/test_runs.py runs them."""


@pytest.mark.parametrize("path", [path for path in modules() if path.stem not in ELSEWHERE], ids=str)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name_of(path))
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in finder.find(module, module.__name__):
        runner.run(test)
    assert runner.failures == 0
