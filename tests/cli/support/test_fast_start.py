"""The packages that a command does without."""

from __future__ import annotations

import subprocess
import sys

import pytest

from twinset.cli.support.fast_start import UNUSED, UnusedPackages

PROGRAM = """
import sys
from twinset.cli.support.fast_start import skip_unused_packages
skip_unused_packages()
import numba
import pyarrow
twice = numba.njit(lambda x: 2 * x)(21)
print(twice, pyarrow.array([1]).to_pylist(), sorted({"pandas", "scipy"} & set(sys.modules)))
"""


def test_arrow_and_numba_work_without_them() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "42 [1] []\n"


@pytest.mark.parametrize("name", UNUSED)
def test_what_no_command_uses_is_refused_unless_spark_is_loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", sys)
    UnusedPackages.find_spec(name)
    monkeypatch.delitem(sys.modules, "pyspark")
    with pytest.raises(ModuleNotFoundError, match="no command uses it"):
        UnusedPackages.find_spec(name)


def test_everything_else_is_left_to_the_other_finders() -> None:
    UnusedPackages.find_spec("json")
    UnusedPackages.find_spec("pandasql")
