"""Compiling ahead: every kernel is found, and nothing is left to do after it."""

from __future__ import annotations

import re

import pytest

import twinset
from tests.house.source import PACKAGE
from twinset.compiled import cache
from twinset.jobs.warm import kernel_modules


def test_every_file_with_kernels_is_compiled() -> None:
    with_kernels = {
        "twinset." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^@kernel\(", path.read_text("utf-8"), re.MULTILINE)
    }
    assert with_kernels
    assert with_kernels <= set(kernel_modules())


def test_the_second_time_there_is_nothing_to_do() -> None:
    twinset.warm()
    assert twinset.warm() == 0


def test_without_a_cache_it_has_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinset.jobs.warm.cache_folder", lambda: None)
    with pytest.raises(twinset.OutputError, match="compiling them now is useless"):
        twinset.warm()
    assert cache.cache_folder() is not None
