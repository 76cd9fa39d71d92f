"""What a command does without: refused, or put off."""

from __future__ import annotations

import subprocess
import sys

import pytest

from twinset.cli.support.fast_start import LATER, UNUSED, PassedOver

PROGRAM = """
import sys
from twinset.cli.passed_over import pass_over
pass_over()
import numba
late = "importlib.metadata" not in sys.modules
twice = numba.njit(lambda x: 2 * x)(21)
print(late, "importlib.metadata" in sys.modules, twice, numba.experimental.jitclass.__name__)
"""


def test_what_is_put_off_is_there_when_it_is_needed() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "42", "jitclass"]


@pytest.mark.parametrize("name", UNUSED)
def test_what_no_command_uses_is_refused(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="no command uses it"):
        PassedOver.find_spec(name)


def test_of_everything_else_nothing_is_said() -> None:
    import numba

    assert PassedOver.find_spec("json") is PassedOver.find_spec("numba.core.config", numba.core.__path__) is None
    assert all(PassedOver.find_spec(name, numba.__path__) for name in LATER if name.count(".") == 1)
