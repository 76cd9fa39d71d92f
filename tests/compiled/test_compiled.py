"""Kernels are compiled again when they, or those that they use, have changed; and only then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.house.source import PACKAGE, imports_of, modules
from twinset.compiled.cache import sources

KERNELS = [path for path in modules() if path.stem.endswith("kernels")]
PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from twinset import compiled
said = []
compiled.on_compile(lambda: said.append("compiling"))
from twinset.pairs import some_kernels
from twinset.other_kernels import answer
print(some_kernels.doubled(21), answer(), len(said))
"""
USED = "from twinset.compiled import inlined\n\n\n@inlined\ndef twice(x):\n    return {factor} * x\n"
USING = (
    "from twinset.used_kernels import twice\nfrom twinset.compiled import kernel\n\n\n"
    '@kernel("int64(int64)")\ndef doubled(x):\n    return twice(x)\n'
)
CALLING = (
    "from twinset.other_kernels import answer\nfrom twinset.compiled import kernel\n\n\n"
    '@kernel("int64(int64)")\ndef more(x):\n    return x + answer()\n'
)
KEPT = """
import sys
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, {folder!r})
from twinset import compiled
said = []
compiled.on_compile(lambda: said.append("compiling"))
from twinset.calling_kernels import answer, more
with ThreadPoolExecutor(8) as threads:
    print(sum(threads.map(more, range(8))), answer(), len(said))
"""
LOADED = """
import sys
sys.path.insert(0, {folder!r})
from twinset.calling_kernels import answer, more
kernels = (more, answer)
before = [one._loaded is not None for one in kernels]
print(*before, answer(), *(one._loaded is not None for one in kernels))
"""
OTHER = "from twinset.compiled import kernel\n\n\n@kernel('int64()')\ndef answer():\n    return 7\n"


@pytest.mark.parametrize("path", KERNELS, ids=str)
def test_every_kernel_source_that_is_used_is_in_the_digest(path: Path) -> None:
    found = set(sources(PACKAGE / path, {}))
    used = {PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in imports_of(path)}
    for other in used:
        if other.stem.endswith("kernels"):
            assert other in found, f"{path} uses {other.name} in a way that the cache does not see"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of three kernels, one of which uses another module, and one another kernel."""
    package = tmp_path / "twinset"
    (package / "pairs").mkdir(parents=True)
    for name, text in (
        ("__init__.py", ""),
        ("pairs/__init__.py", ""),
        ("used_kernels.py", USED.format(factor=2)),
        ("pairs/some_kernels.py", USING),
        ("other_kernels.py", OTHER),
        ("calling_kernels.py", CALLING),
    ):
        (package / name).write_text(text, "utf-8")
    (package / "compiled").mkdir()
    (package / "system").mkdir()
    system = [f"system/{name}.py" for name in ("__init__", "compile_time", "disk", "locks")]
    for name in ("compiled/__init__.py", "compiled/cache.py", "errors.py", *system):
        shutil.copy(PACKAGE / name, package / name)
    return package


def run(folder: Path, cache: Path, program: str = PROGRAM, **settings: str) -> list[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **settings}
    command = [sys.executable, "-c", program.format(folder=str(folder))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_change_is_compiled_and_nothing_else_is(package: Path) -> None:
    folder, cache = package.parent, package.parent / "cache"
    assert run(folder, cache) == ["42", "7", "1"]
    assert run(folder, cache) == ["42", "7", "0"]
    compiled = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}
    (package / "used_kernels.py").write_text(USED.format(factor=3), "utf-8")
    assert run(folder, cache) == ["63", "7", "1"]
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc") if path in compiled} == compiled
    assert len(list(cache.rglob("*.nbc"))) == len(compiled) + 1


def test_another_copy_another_processor_and_other_settings_have_kernels_of_their_own(package: Path) -> None:
    """They are compiled anew, and that is said."""
    cache = package.parent / "cache"
    assert run(package.parent, cache) == ["42", "7", "1"]
    copied = package.parent / "copied"
    shutil.copytree(package, copied / "twinset")
    assert run(copied, cache) == ["42", "7", "1"]
    for name, value in (("NUMBA_CPU_NAME", "generic"), ("NUMBA_BOUNDSCHECK", "1"), ("NUMBA_OPT", "1")):
        folders = set((cache / "twinset-kernels").iterdir())
        assert run(copied, cache, PROGRAM, **{name: value}) == ["42", "7", "1"]
        assert len(set((cache / "twinset-kernels").iterdir()) - folders) == 2
        assert run(copied, cache, PROGRAM, **{name: value}) == ["42", "7", "0"]


def test_cached_kernels_are_loaded_when_called(package: Path) -> None:
    folder, cache = package.parent, package.parent / "cache"
    assert run(folder, cache, KEPT) == ["84", "7", "1"]
    assert run(folder, cache, KEPT) == ["84", "7", "0"]
    assert run(folder, cache, LOADED) == ["False", "False", "7", "False", "True"]


def test_what_is_compiled_may_use_what_is_cached(package: Path) -> None:
    folder, cache = package.parent, package.parent / "cache"
    assert run(folder, cache, KEPT) == ["84", "7", "1"]
    for path in cache.rglob("*more*"):
        path.unlink()
    assert run(folder, cache, KEPT) == ["84", "7", "1"]


def test_what_is_lost_is_compiled_again(package: Path) -> None:
    folder, cache = package.parent, package.parent / "cache"
    assert run(folder, cache, KEPT) == ["84", "7", "1"]
    for path in cache.rglob("*.nbc"):
        path.unlink()
    assert run(folder, cache, KEPT) == ["84", "7", "0"]
    shutil.rmtree(cache)
    assert run(folder, cache, KEPT) == ["84", "7", "1"]


def test_processes_that_start_together_compile_each_kernel_once(package: Path) -> None:
    folder, cache = package.parent, package.parent / "cache"
    program = f"{KEPT}from twinset.system.compile_time import compiled_kernels\nprint(compiled_kernels())"
    with ThreadPoolExecutor(4) as threads:
        runs = [threads.submit(run, folder, cache, program) for _ in range(4)]
    done = [one.result() for one in runs]
    assert {tuple(one[:2]) for one in done} == {("84", "7")}
    assert sum(int(one[3]) for one in done) == 2, "each kernel is compiled by one of them"
    assert run(folder, cache, KEPT) == ["84", "7", "0"]


def test_without_the_compiler_kernels_are_functions(package: Path) -> None:
    cache = package.parent / "cache"
    assert run(package.parent, cache, PROGRAM, NUMBA_DISABLE_JIT="1") == ["42", "7", "0"]
    assert not cache.exists()
