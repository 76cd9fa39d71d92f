"""README, docs and examples are true: their commands and programs run, and give what they say.

In a fenced ``console`` block each line after ``$ `` is run; what follows it is its output, where ``…`` stands
for anything and times are not compared. A fenced ``python`` block is a program. All blocks of a page run in
order, in one folder that begins as a copy of `examples/`. For the README the command is started as a user starts it;
on the other pages it is one that was loaded beforehand (`tests/ready.py`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import components, ready, spark_cluster

from .source import ROOT, modules, name_of

PLACES = ("README.md", "docs/**/*.md", "examples/**/*.md")
PAGES = [page for place in PLACES for page in sorted(ROOT.glob(place))]
DRAWN = ("run_time.py", "s_curves.py", "share_found.py")
"""Programs that `test_figures` runs."""
PROGRAMS = sorted(program for program in ROOT.glob("examples/**/*.py") if program.name not in DRAWN)
ANYTHING = "…"
TIME = re.compile(r"\b\d[\d,.]*\s?(µs|ms|s|min|seconds|[kMG]B/s|documents/s|bytes/s)(?!\w)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    line: int
    text: str


def blocks(page: Path) -> Iterator[Block]:
    fence: list[str] | None = None
    begun, language = 0, ""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        if not line.startswith("```"):
            if fence is not None:
                fence.append(line)
        elif fence is None:
            fence, begun, language = [], number, line.removeprefix("```").strip().split(" ")[0]
        else:
            yield Block(language, begun, "\n".join(fence))
            fence = None
    assert fence is None, f"{page.name}: the block of line {begun} has no end"


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output that is recorded for it."""
    command, output = "", list[str]()
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(output)
            command, output = line[2:], []
        elif line.startswith("> ") and command and not output:
            command += "\n" + line[2:]
        else:
            output.append(line)
    if command:
        yield command, "\n".join(output)


def environment(programs: Path) -> dict[str, str]:
    """A terminal that is always the same: 100 columns, no colours, no progress but lines."""
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}


def of_spark(text: str, folder: Path) -> dict[str, str]:
    """The variables of a page or a program that starts Spark; it is skipped where there is none."""
    if not re.search(r"^\$ .*--engine spark|^from pyspark", text, re.MULTILINE):
        return {}
    components.skip_without(spark_cluster.missing())
    (folder / "no-configuration").mkdir()
    variables = spark_cluster.environment(folder)
    return {name: value for name, value in variables.items() if "SPARK" in name or "JAVA" in name}


def of_postgres(text: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The variables of a page that uses an empty database of a PostgreSQL server; it is skipped where there is none."""
    if not re.search(r"^\$ .*postgresql://|^import psycopg", text, re.MULTILINE):
        return {}
    from psycopg import conninfo

    facts = conninfo.conninfo_to_dict(request.getfixturevalue("postgres_url"))
    variables = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password", "PGDATABASE": "dbname"}
    return {name: str(facts[fact]) for name, fact in variables.items() if fact in facts}


def run(command: list[str], folder: Path, programs: Path, more: dict[str, str] | None = None) -> tuple[int, str]:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment(programs), **(more or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=900,
        check=False,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def same(recorded: str, found: str) -> bool:
    """Compare outputs line by line; times are equal to each other, and … to anything."""
    recorded, found = (
        "\n".join(line.rstrip() for line in TIME.sub("TIME", text).strip().splitlines())
        for text in (recorded, found)
    )
    pattern = ".*".join(re.escape(piece) for piece in recorded.split(ANYTHING))
    return re.fullmatch(pattern, found, re.DOTALL) is not None


@pytest.fixture(scope="session")
def compiled() -> None:
    """Compile all kernels beforehand: the announcement of it is no part of any page."""
    kernels = [name_of(path) for path in modules() if path.stem.endswith("kernels")]
    subprocess.run([sys.executable, "-c", f"import {', '.join(kernels)}"], check=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if (ROOT / "examples").is_dir():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
        return tmp_path / "examples"
    return tmp_path


@pytest.mark.timeout(1800)  # on a busy machine the page on Spark takes minutes
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_true(page: Path, folder: Path, request: pytest.FixtureRequest) -> None:
    name = page.relative_to(ROOT)
    starts = name == Path("README.md")
    programs = Path(sys.executable).parent if starts else ready.folder()
    more = of_spark(page.read_text("utf-8"), folder.parent) | of_postgres(page.read_text("utf-8"), request)
    for block in blocks(page):
        where = f"{name}:{block.line}"
        if block.language == "python":
            program = folder.parent / "block.py"
            program.write_text(block.text, "utf-8")
            loaded = [str(programs / "python-ready"), "-c", str(program)]
            code, output = run([sys.executable, "-c", block.text] if starts else loaded, folder, programs, more)
            assert code == 0, f"{where}: {output}"
        elif block.language == "console":
            for command, recorded in commands(block):
                _, output = run(["bash", "-c", command], folder, programs, more)
                assert same(recorded, output), f"{where}: $ {command}\n{recorded}\n--- found:\n{output}"


@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.relative_to(ROOT)))
def test_an_example_runs(program: Path, folder: Path) -> None:
    programs = ready.folder()
    more = of_spark(program.read_text("utf-8"), folder.parent)
    words = [str(programs / "python-ready"), str(program.relative_to(ROOT / "examples"))]
    code, output = run(words, folder, programs, more)
    assert code == 0, output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


@pytest.mark.parametrize(
    ("recorded", "found", "equal"),
    [
        ("a\nb", "a\nb\n", True),
        ("a … c", "a b c", True),
        ("a\n…\nz", "a\nb\nc\nz", True),
        ("done: 1.2 s", "done: 0.7 s", True),
        ("kept 5", "kept 6", False),
        ("5 sets", "6 sets", False),
        ("", "", True),
    ],
)
def test_how_outputs_are_compared(recorded: str, found: str, equal: bool) -> None:
    assert same(recorded, found) is equal


def test_how_blocks_are_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text\n```console\n$ echo a \\\n> b\na b\n$ true\n```\n```python\nx = 1\n```\n")
    console, program = blocks(page)
    assert list(commands(console)) == [("echo a \\\nb", "a b"), ("true", "")]
    assert (program.language, program.line, program.text) == ("python", 8, "x = 1")


def test_the_command_reference_is_what_the_options_say() -> None:
    from twinset.cli.reference import reference

    assert (ROOT / "docs" / "commands.md").read_text("utf-8") == reference(), "make docs writes it anew"
