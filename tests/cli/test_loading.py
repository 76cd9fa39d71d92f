"""While the program is loaded other threads are let in at once; afterwards the interpreter is as it was."""

from __future__ import annotations

import gc
import sys

import pytest

from twinset.cli import running


@pytest.mark.parametrize("fails", [False, True])
def test_loading_leaves_the_interpreter_as_it_was(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    seen = []

    def load(*_: object) -> None:
        seen.append((sys.getswitchinterval() < before / 10, gc.isenabled()))
        if fails:
            raise KeyboardInterrupt

    monkeypatch.setattr(running, "import_module", load)
    before = sys.getswitchinterval()
    try:
        running.load(lambda _: None)
    except KeyboardInterrupt:
        assert fails
    finally:
        gc.unfreeze()
    assert seen == [(True, False)]
    assert sys.getswitchinterval() == before
    assert gc.isenabled()
