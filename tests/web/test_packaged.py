"""Templates, styles and scripts are part of the package that is installed."""

from __future__ import annotations

import tomllib
from glob import glob

from tests.house.source import PACKAGE, ROOT


def test_every_file_of_the_pages_is_packaged() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    packaged = {path for pattern in settings["twinset"] for path in glob(pattern, root_dir=PACKAGE, recursive=True)}
    files = {
        str(path.relative_to(PACKAGE)) for path in (PACKAGE / "web").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }  # fmt: skip
    assert len(files) > 10
    assert not files - packaged
