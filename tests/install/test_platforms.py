"""Systems that this is not: what is refused there, and what differs, simulated from the start of an interpreter."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from twinset.system import disk

# What Python on Windows has not; whoever needs it gets ModuleNotFoundError.
ON_WINDOWS = """
import sys
sys.platform = 'win32'
for name in ('fcntl', 'grp', 'pwd', 'resource', 'termios', 'posix_spawn'):
    sys.modules[name] = None
"""
REFUSED = "Windows is not supported: install twinset within WSL 2 (wsl --install), where it runs as on Linux"


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [[], ["--help"], ["demo"], ["dedup", "a.jsonl", "-o", "out"]])
def test_the_command_refuses_windows_in_one_line(words: list[str]) -> None:
    done = run(f"{ON_WINDOWS}\nsys.argv = ['twinset', *{words!r}]\nfrom twinset.cli import script\nscript()")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"twinset: {REFUSED}\n")


@pytest.mark.parametrize("name", ["dedup", "Index", "plan", "report"])
def test_the_package_refuses_windows(name: str) -> None:
    program = f"{ON_WINDOWS}\nimport twinset\ntry:\n    twinset.{name}\nexcept ImportError as error:\n    print(error)"
    done = run(program)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, REFUSED, "")


def test_the_definitions_run_on_windows() -> None:
    done = run(f"{ON_WINDOWS}\nfrom twinset.textbook import jaccard\nprint(jaccard({{1, 2}}, {{2, 3}}))")
    assert (done.returncode, done.stderr) == (0, "")


DARWIN = "import sys; sys.platform = 'darwin'; from twinset.documents.output_names import distinct_names as names; "


def test_on_macos_names_that_differ_in_case_or_in_the_form_of_accents_are_the_same() -> None:
    files = [(("a", "News.txt"), 1), (("b", "news.TXT"), 1), (("b", "caf\u00e9"), 1), (("c", "cafe\u0301"), 1)]
    program = f"{DARWIN}print(ascii([str(one) for one in names({files!r})]))"
    assert run(program).stdout.strip() == ascii(["a/News.txt", "b/news.TXT", "b/caf\u00e9", "c/cafe\u0301"])
    twice = [(("x.txt",), 1), (("X.txt",), 1), (("x-2.txt",), 1)]
    assert run(f"{DARWIN}print(sorted(str(one) for one in names({twice!r})))").stdout.strip() == (
        "['X-3.txt', 'x-2.txt', 'x.txt']"
    )


def test_elsewhere_they_are_not() -> None:
    from twinset.documents.output_names import distinct_names

    files = [(("a", "News.txt"), 1), (("b", "news.txt"), 1)]
    assert [str(one) for one in distinct_names(files)] == ["News.txt", "news.txt"]


@pytest.mark.parametrize("knows", [True, False])
def test_on_macos_the_cache_of_the_drive_is_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows: bool
) -> None:
    full = 51
    asked: list[tuple[str, str]] = []

    def control(handle: int, command: int) -> int:
        assert command == full
        asked.append(("fcntl", os.readlink(f"/proc/self/fd/{handle}")))
        if not knows:
            raise OSError(45, "Operation not supported")
        return 0

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", full, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", control)
    really = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (asked.append(("fsync", "")), really(handle)))
    file = tmp_path / "file"
    file.write_text("x")
    disk.sync(file)
    assert asked == [("fcntl", str(file.resolve()))] + ([] if knows else [("fsync", "")])


def test_without_linux_files_memory_and_leases_have_other_answers(tmp_path: Path) -> None:
    # macOS has no /proc, no cgroups, no leases and no affinity.
    program = f"""
import builtins, fcntl, os
for name in ('F_SETLEASE', 'F_SETSIG', 'F_GETLEASE'):
    if hasattr(fcntl, name): delattr(fcntl, name)
if hasattr(os, 'sched_getaffinity'): del os.sched_getaffinity
really = builtins.open
def absent(path, *more, **named):
    if str(path).startswith(('/proc', '/sys')): raise FileNotFoundError(2, 'No such file or directory', str(path))
    return really(path, *more, **named)
builtins.open = absent
import twinset
os.chdir({str(tmp_path)!r})
texts = ['a rose is a rose is a rose in any garden of the town', 'a rose is a rose is a rose in any garden of the city']
done = twinset.dedup(texts, shingle='word:3', threshold=0.6, output='out')
with twinset.Index.create('news.twinset', shingle='word:3') as index:
    index.add(['a', 'b'], texts)
    index.remove('a')
print(done.summary['kept'], done.explain(1).state, sorted(os.listdir('.')))
"""
    done = run(program)
    assert done.stdout.strip() == "1 removed ['news.twinset', 'news.twinset-lock', 'out']", done.stderr
