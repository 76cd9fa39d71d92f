"""The browser in which the tests of a module open their pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.components import skip_without
from tests.report.browser import Browser, missing


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    skip_without(missing())
    with Browser() as window:
        yield window
