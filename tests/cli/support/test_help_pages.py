"""Help pages: the common options first, all of them on request; and completion in the shells."""

from __future__ import annotations

import re

import click
import pytest

from tests.cli.conftest import Call
from twinset.cli.command_line import twinset
from twinset.cli.reference import _commands
from twinset.cli.support.flags import FEW

EVERY = {
    one.command_path.removeprefix("twinset "): one
    for one in _commands(click.Context(twinset, info_name="twinset"))
    if not isinstance(one.command, click.Group)
}


def described(page: str) -> list[str]:
    """The flags that a page describes, by their first spelling."""
    options = re.split(r"^[A-Z][\w ]*:$", page, maxsplit=1, flags=re.MULTILINE)[-1]  # not the flags of the description
    return re.findall(r"^  (-{1,2}[\w-]+)(?=[ ,])", options, re.MULTILINE)


@pytest.mark.parametrize("name", EVERY)
def test_a_long_help_page_has_the_common_options_and_names_the_others(call: Call, name: str) -> None:
    flags = [one.opts[0] for one in EVERY[name].command.params if isinstance(one, click.Option)]
    page = call(*name.split(), "--help").out
    assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", page)) >= set(flags), "every option is at least named"
    if "--help-all" not in flags:
        assert set(described(page)) == {*flags, "-h"}
        return
    assert 8 <= len(described(page)) <= 20
    assert set(described(call(*name.split(), "--help-all").out)) == {*flags, "-h"}


def test_few_options_are_all_shown(call: Call) -> None:
    assert len(described(call("report", "--help").out)) <= FEW
    assert "--help-all" not in call("report", "--help").out


def test_dedup_shows_what_a_first_hour_needs(call: Call) -> None:
    page = call("dedup", "--help").out
    assert {"--text", "--id", "--threshold", "--shingle", "--keep", "-o", "--dry-run"} <= set(described(page))
    assert max(map(len, page.splitlines())) <= 80
    assert "more options, described by --help-all" in page


@pytest.mark.parametrize(
    ("shell", "words", "at", "offered"),
    [
        ("bash", "twinset ded", "1", "plain,dedup"),
        ("zsh", "twinset ded", "1", "plain\ndedup\nRemove near-duplicates."),
        ("fish", "twinset dedup --thre", "--thre", "--threads"),
        ("bash", "twinset dedup --cluster com", "3", "plain,components\nplain,complete\n"),
        ("bash", "twinset dedup --keep ne", "3", "plain,newest:\n"),
        ("bash", "twinset recut OUT --keep lo", "4", "plain,longest\nplain,lowest:\n"),
        ("bash", "twinset dedup --keep source,lon", "3", "plain,source,longest\n"),
        ("bash", "twinset dedup ne", "2", "file,ne"),
        ("bash", "twinset dedup news.jsonl -o re", "4", "file,re"),
    ],
)
def test_each_shell_completes_commands_and_options(
    call: Call, monkeypatch: pytest.MonkeyPatch, shell: str, words: str, at: str, offered: str
) -> None:
    monkeypatch.setenv("_TWINSET_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", at)
    done = call()
    assert done.code == 0
    assert offered in done.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(call: Call, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    monkeypatch.setenv("_TWINSET_COMPLETE", f"{shell}_source")
    done = call()
    assert done.code == 0
    assert f"_TWINSET_COMPLETE={shell}_complete" in done.out
