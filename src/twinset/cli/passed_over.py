"""Packages that others load on their way, and that no command uses.

Arrow looks for pandas when it makes its first array of a list, Numba for SciPy when it is loaded, and for its linear
algebra when it compiles. Where they are installed, that is a quarter of the time until a command begins, and 50 MB.
"""

from __future__ import annotations

import sys
from typing import Any

UNUSED = ("pandas", "scipy")  # whole packages: one is loaded before what is within it is looked for


class PassedOver:
    """A finder of modules that says of some that they are not there."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        """Refuse what no command uses; of everything else say nothing."""
        if name in UNUSED:
            raise ModuleNotFoundError(f"{name} is passed over: no command uses it", name=name)


def pass_over() -> None:
    """Do so from now on: only in a process that is the command's own."""
    sys.meta_path.insert(0, PassedOver)
