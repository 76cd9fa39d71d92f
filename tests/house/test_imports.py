"""Who may import whom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .source import NOUNS, imports_of, modules, name_of, part_of, parts

# From the bottom of the house to its top. A part may import what is below it, not what is beside or above it.
GROUND = {"compiled", "errors", "options", "schema", "system", "textbook", "unicode", "wording"}
LEVELS: tuple[set[str], ...] = (
    GROUND,
    {"plan"},
    set(NOUNS),
    {"verdicts"},
    {"engines"},
    {"index"},
    {"results"},
    {"report"},
    {"evaluation"},
    {"pipeline"},
    {"jobs", "spark"},
    {"client"},
    {"cli", "web", "mcp"},
)
LEVEL = {part: level for level, found in enumerate(LEVELS) for part in found}
ONCE = (
    *("matplotlib", "psycopg", "pyspark", "fastapi", "starlette", "uvicorn", "jinja2", "PIL", "mcp"),
    *("resiliparse", "fastwarc", "yaml", "obstore", "boto3", "huggingface_hub"),
)
KERNEL_IMPORTS = {"__future__", "math", "numpy", "numba", "llvmlite", "typing"}


def own_imports(path: Path) -> set[str]:
    """The parts of the package that a module imports."""
    found = {part_of(name) for name in imports_of(path) if name.startswith("twinset.")}
    return found & parts()


@pytest.mark.parametrize("path", modules(), ids=str)
def test_imports_go_down(path: Path) -> None:
    part = part_of(name_of(path))
    if part in ("", "__main__"):
        return  # the public API and `python -m twinset` stand on top of everything
    for other in own_imports(path) - {part}:
        beside = LEVEL[other] == LEVEL[part] and LEVEL[part] > 0
        assert LEVEL[other] <= LEVEL[part], f"{part} is below {other} and must not import it"
        assert not beside or part == "cli", f"{part} stands beside {other} and must not import it"


def test_every_part_has_its_level() -> None:
    assert parts() - {"__init__", "__main__"} <= set(LEVEL)


@pytest.mark.parametrize("noun", NOUNS)
def test_nouns_meet_in_the_schema_only(noun: str) -> None:
    for path in modules():
        if path.parts[0] == noun:
            strangers = own_imports(path) & set(NOUNS) - {noun}
            assert not strangers, f"{path} imports {strangers}"


def test_the_command_line_goes_through_the_pipeline() -> None:
    for path in modules():
        if path.parts[0] == "cli":
            assert not own_imports(path) & {*NOUNS, "engines", "index"}, f"{path} bypasses the pipeline"


@pytest.mark.parametrize("path", [path for path in modules() if path.stem.endswith("kernels")], ids=str)
def test_kernels_import_numpy_and_numba_only(path: Path) -> None:
    for name in imports_of(path):
        first = name.split(".")[0]
        if first == "twinset":
            allowed = name == "twinset" or part_of(name) == "compiled" or "kernels" in name
            assert allowed or name == "twinset." + path.parts[0], f"{path} imports {name}"
        else:
            assert first in KERNEL_IMPORTS, f"{path} imports {name}"


@pytest.mark.parametrize("package", ONCE)
def test_optional_packages_are_imported_in_one_place(package: str) -> None:
    users = {str(path) for path in modules() if package in {name.split(".")[0] for name in imports_of(path)}}
    assert len(users) <= 1, f"{package} is imported in {users}"


@pytest.mark.parametrize(
    "words",
    [
        *("--help", "pairs --help", "sketch --help", "dedup --help-all", "warm --help", "--version", "plan"),
        *("serve --help", "mcp --help", "textbook --help", "collapse --help", "textbook --id x -o page.html"),
        *("passages --help", "trim --help-all", "trim x --copies 2 --everywhere"),
        "dedup --nonsense",
        *("index --help", "index query --help", "index add x --memory 1GB"),
    ],
)
def test_help_waits_for_nothing_heavy(words: str) -> None:
    program = (
        "import sys; from twinset.cli import main; main(sys.argv[1:]); "
        "heavy = {'numpy', 'numba', 'pyarrow', 'orjson', 'rich', 'llvmlite', 'apsw'} & set(sys.modules); "
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    command = [sys.executable, "-c", program, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_command_skips_what_arrow_and_numba_would_load() -> None:
    program = (
        "import os, sys; from twinset import cli; end = os._exit; "
        "unused = lambda: {'pandas', 'scipy'} & set(sys.modules); "
        "os._exit = lambda code: end(code or 3 * bool(unused())); cli.script()"
    )
    # What compiles loads more: it is compiled before, if it is not yet.
    subprocess.run([sys.executable, "-m", "twinset", "demo", "--json"], capture_output=True, check=True)
    command = [sys.executable, "-c", program, "demo", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_the_package_waits_for_nothing_heavy() -> None:
    program = "import sys, twinset; sys.exit(bool({'numpy', 'numba', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_run_waits_for_nothing_that_only_its_result_is_asked_for() -> None:
    later = {"twinset.results.explain", "twinset.results.recut", "twinset.report", "twinset.textbook"}
    program = f"import sys, twinset.jobs.dedup, twinset.jobs.pairs; sys.exit(bool({later} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_importing_the_package_changes_no_signal_handler_and_starts_no_thread() -> None:
    program = """
import signal, sys, threading
def state():
    return [signal.getsignal(one) for one in sorted(signal.valid_signals())], threading.enumerate(), sys.unraisablehook
before = state()
import twinset
assert state() == before, "import twinset"
for name in twinset.__all__:
    getattr(twinset, name)
    assert state() == before, name
import twinset.cli.command_line
assert state() == before, "the command line"
"""
    for name in ("other", "/usr/bin/twinset"):  # the command's own process is no exception
        command = [sys.executable, "-c", f"import sys; sys.argv = [{name!r}]\n{program}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
