"""While the program is loaded no garbage is collected; afterwards the interpreter is as it was."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import twinset
from twinset.cli.support import run

LOOKED = "import gc, sys\nsys.looked_at = gc.isenabled()\n"


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Path]:
    """A module of the package that does not ship with it: what it is loaded under is what it sees."""
    twinset.__path__.append(str(tmp_path))
    yield tmp_path / "looking.py"
    twinset.__path__.remove(str(tmp_path))
    sys.modules.pop("twinset.looking", None)
    gc.unfreeze()


@pytest.mark.parametrize("ending", ["", "raise KeyboardInterrupt\n"], ids=["loaded", "stopped"])
def test_loading_leaves_the_interpreter_as_it_was(module: Path, ending: str) -> None:
    module.write_text(LOOKED + ending)
    if ending:
        with pytest.raises(KeyboardInterrupt):
            run.load(lambda _: None, "looking")
    else:
        run.load(lambda _: None, "looking")
    assert not vars(sys).pop("looked_at")
    assert gc.isenabled()
