"""Kernels are compiled again when they, or those that they use, have changed; and only then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import PACKAGE, imports_of, modules

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
    print(sum(threads.map(more, range(8))), answer(), len(said), "numba.cpython.printimpl" in sys.modules)
"""
EVERY = """
import sys
from importlib import import_module
from twinset import compiled
modules = map(import_module, sys.argv[1:])
found = {one for module in modules for one in vars(module).values() if isinstance(one, compiled._Kept)}
for one in found:
    one._load()
print(len(found), "numba.cpython.printimpl" in sys.modules)
"""
OTHER = "from twinset.compiled import kernel\n\n\n@kernel('int64()')\ndef answer():\n    return 7\n"


@pytest.mark.parametrize("path", KERNELS, ids=str)
def test_every_kernel_source_that_is_used_is_in_the_digest(path: Path) -> None:
    from twinset import compiled

    found = set(compiled._sources(PACKAGE / path, {}))
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
        ("compiled.py", (PACKAGE / "compiled.py").read_text("utf-8")),
        ("used_kernels.py", USED.format(factor=2)),
        ("pairs/some_kernels.py", USING),
        ("other_kernels.py", OTHER),
        ("calling_kernels.py", CALLING),
    ):
        (package / name).write_text(text, "utf-8")
    return package


def test_every_kernel_is_loaded_without_what_only_compiling_needs() -> None:
    """Where something were missing LLVM would end the process."""
    names = ["twinset." + ".".join(path.with_suffix("").parts) for path in KERNELS]
    subprocess.run([sys.executable, "-c", f"import {', '.join(names)}"], check=True)  # compiled, if they are not yet
    command = [sys.executable, "-c", EVERY, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count = sum((PACKAGE / path).read_text("utf-8").count("\n@kernel(") for path in KERNELS)
    assert done.stdout.split() == [str(count), "False"]


def test_the_kernels_of_every_run_allocate_nothing() -> None:
    """Numba would load all that it knows of arrays, a twentieth of the time until a command begins."""
    names = ["twinset.shingles.texts_kernels", "twinset.sketches.minhash_kernels", "twinset.pairs.sets_kernels"]
    subprocess.run([sys.executable, "-c", f"import {', '.join(names)}"], check=True)
    program = EVERY.replace("numba.cpython.printimpl", "numba.np.arrayobj")
    done = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == "False"


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


def test_what_another_copy_or_another_python_compiled_is_not_ours(package: Path) -> None:
    """It is compiled anew, and that is said."""
    cache = package.parent / "cache"
    assert run(package.parent, cache) == ["42", "7", "1"]
    assert run(package.parent, cache) == ["42", "7", "0"]
    copied = package.parent / "copied"
    shutil.copytree(package, copied / "twinset")
    assert run(copied, cache) == ["42", "7", "1"]
    for path in cache.rglob("*.py3*"):
        path.rename(path.with_name(path.name.replace(".py3", ".py2")))
    assert run(copied, cache) == ["42", "7", "1"]


def test_kept_kernels_are_loaded_when_called_and_without_what_only_compiling_needs(package: Path) -> None:
    folder, cache = package.parent, package.parent / "cache"
    assert run(folder, cache, KEPT) == ["84", "7", "1", "True"]
    assert run(folder, cache, KEPT) == ["84", "7", "0", "False"]


def test_what_is_compiled_may_use_what_is_kept(package: Path) -> None:
    folder, cache = package.parent, package.parent / "cache"
    assert run(folder, cache, KEPT) == ["84", "7", "1", "True"]
    for path in cache.rglob("calling_kernels.more-*"):
        path.unlink()
    assert run(folder, cache, KEPT) == ["84", "7", "1", "True"]


def test_what_was_kept_for_another_processor_or_is_lost_meanwhile_is_compiled(package: Path) -> None:
    folder, cache = package.parent, package.parent / "cache"
    assert run(folder, cache, KEPT) == ["84", "7", "1", "True"]
    assert run(folder, cache, KEPT, NUMBA_CPU_NAME="generic") == ["84", "7", "0", "True"]
    for path in cache.rglob("*.nbc"):
        path.unlink()
    assert run(folder, cache, KEPT) == ["84", "7", "0", "True"]
