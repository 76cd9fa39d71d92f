"""The tables of keep rules and formats: help and documentation name every entry, in its own words."""

from __future__ import annotations

import pytest

from twinset.cli.reference import reference
from twinset.options.keep_rules import KEEP_RULES, KeepRule

from .source import ROOT


@pytest.mark.parametrize("rule", KEEP_RULES.values(), ids=list(KEEP_RULES))
def test_help_and_the_page_on_choosing_name_every_keep_rule(rule: KeepRule) -> None:
    assert f" {rule.spelling}," in reference()
    rows = [
        line.split(" | ", 1)[1]
        for line in (ROOT / "docs" / "choosing.md").read_text("utf-8").splitlines()
        if line.startswith(f"| `{rule.spelling}`")
    ]
    assert len(rows) == 1, f"docs/choosing.md needs one row for `{rule.spelling}`"
    assert rows[0].startswith(rule.wins)
