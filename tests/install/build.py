"""Build the source distribution, and from it the wheel, and check both.

    python -m tests.install.build FOLDER

does it twice, compares the files byte for byte, and leaves them in a folder. ``make dist`` runs it.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from packaging.metadata import Metadata

from tests.house.source import PACKAGE, ROOT

EPOCH = "1580601600"  # unless the environment names a time: the same as that of the build backend


def build_sdist(out: Path, source: Path = ROOT) -> Path:
    """Build the source distribution of a tree."""
    return _build("sdist", out, source)


def build_wheel(out: Path, source: Path = ROOT) -> Path:
    """Build the wheel of a tree."""
    return _build("wheel", out, source)


def unpacked(sdist: Path, folder: Path) -> Path:
    """Unpack a source distribution; the folder in it."""
    with tarfile.open(sdist) as archive:
        # Filters came with 3.11.4; the archive is our own.
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    [tree] = folder.iterdir()
    return tree


def _build(target: str, out: Path, source: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    environment = {"SOURCE_DATE_EPOCH": EPOCH, **os.environ}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [made] = out.glob("*.tar.gz" if target == "sdist" else "*.whl")
    return made


def check_sdist(sdist: Path) -> None:
    """Check that a source distribution has what is needed to build, to test and to read."""
    with tarfile.open(sdist) as archive:
        members = {one.name.partition("/")[2]: one for one in archive.getmembers() if one.isfile()}
    needed = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "Makefile")
    for name in (*needed, "requirements.lock", "docs/install.md", "examples/news.jsonl", "tests/conftest.py"):
        assert name in members, f"{sdist.name} lacks {name}"
    for name, one in members.items():
        assert one.mode & stat.S_IRUSR, name
        assert (one.uid, one.gid, one.uname, one.gname) == (0, 0, "", ""), f"{name} tells who built it"
        assert not name.endswith((".pyc", ".nbi", ".nbc", ".twinset")), f"{name} is no source"


def check_wheel(wheel: Path) -> None:
    """Check that a wheel has all of the package, nothing else, and valid metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.partition("/")[0].endswith(".dist-info")}
        [about] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(about)
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in archive.namelist())
        entry_points = archive.read(about.replace("METADATA", "entry_points.txt")).decode()
    package = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    assert names == {name for name in package if not name.endswith(".pyc")}
    assert "twinset = twinset.cli:script" in entry_points
    Metadata.from_email(metadata, validate=True)
    read: Message = message_from_bytes(metadata)
    assert (read["Name"], read["License-Expression"]) == ("twinset", "MIT")
    assert read["Description-Content-Type"] == "text/markdown"


def main(out: Path) -> None:
    """Build twice, compare, check, and keep the files."""
    out.mkdir(parents=True, exist_ok=True)
    left = [path.name for path in out.iterdir()]
    assert not left, f"{out} is not empty: {left}"
    with tempfile.TemporaryDirectory() as scratch:
        first = build_sdist(Path(scratch, "first"))
        again = build_sdist(Path(scratch, "again"))
        assert first.read_bytes() == again.read_bytes(), "two builds of the source distribution differ"
        wheel = build_wheel(Path(scratch, "first"), unpacked(first, Path(scratch, "tree")))
        direct = build_wheel(Path(scratch, "again"))
        assert wheel.read_bytes() == direct.read_bytes(), "the source distribution makes another wheel than the tree"
        check_sdist(first)
        check_wheel(wheel)
        for made in (first, wheel):
            (out / made.name).write_bytes(made.read_bytes())
            print(f"{out / made.name}: {made.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
