"""What other packages load on their way, and no command uses.

Arrow looks for pandas when it makes its first array of a list, Numba for SciPy when it is loaded, and for its linear
algebra when it compiles. Where they are installed, that is a quarter of the time until a command begins, and 50 MB.
Numba is also ready for extensions and for classes: that waits until a kernel is compiled, if one ever is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

UNUSED = ("pandas", "scipy")  # whole packages: one is loaded before what is within it is looked for
LATER = ("numba.core.entrypoints", "numba.experimental")  # where a kernel is compiled, if ever


class PassedOver:
    """A finder of modules that says of some that they are not there, or not yet."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Refuse what no command uses, or put it off; of everything else say nothing."""
        if name in UNUSED:
            raise ModuleNotFoundError(f"{name} is passed over: no command uses it", name=name)
        found = PathFinder.find_spec(name, path) if name in LATER else None
        if found and found.loader:
            from importlib.util import LazyLoader

            found.loader = LazyLoader(found.loader)
        return found


def pass_over() -> None:
    """Do so from now on: only in a process that is the command's own."""
    sys.meta_path.insert(0, PassedOver)
