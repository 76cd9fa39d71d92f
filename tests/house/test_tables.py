"""The tables of keep rules and formats: help and documentation name every entry, in its own words."""

from __future__ import annotations

import re
from importlib import import_module

import click
import pytest

from twinset.cli.command_line import twinset as commands
from twinset.cli.reference import reference
from twinset.documents.files import format_of
from twinset.documents.formats.csv_files import SeparatedPart
from twinset.documents.parts import Part
from twinset.options.formats import CODECS, FORMATS, OUTPUT_ENDINGS, ROW_ENDINGS, TRUTH_ENDINGS, Format
from twinset.options.items import KINDS
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


every_format = pytest.mark.parametrize("format", FORMATS.values(), ids=list(FORMATS))


@every_format
def test_every_format_has_a_part_that_reads_it(format: Format) -> None:
    module, _, name = format.part.partition(":")
    part = getattr(import_module(module), name)
    assert issubclass(part, Part)
    assert (part is SeparatedPart) == (format.delimiter is not None)
    assert part is SeparatedPart or part.format == format.name
    assert format.endings[0] == f".{format.name}"
    assert set(format.kinds) <= set(KINDS)
    for ending in format.endings:
        assert format_of(f"a{ending.upper()}.gz") == (format.name, "gzip")


def test_endings_that_were_promised_stay() -> None:
    rows = {".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".feather"}
    assert rows <= set(ROW_ENDINGS)
    assert rows - {".arrow", ".feather"} <= set(TRUTH_ENDINGS)
    assert {".jsonl", ".ndjson", ".csv", ".parquet"} <= set(OUTPUT_ENDINGS)


def test_no_ending_has_two_formats() -> None:
    endings = [ending for format in FORMATS.values() for ending in format.endings]
    assert len(endings) == len(set(endings))


@every_format
def test_the_page_on_formats_has_a_row_for_every_format(format: Format) -> None:
    endings = ", ".join(f"`{ending}`" for ending in format.endings)
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    rows = re.findall(rf"^\| {re.escape(endings)}[^|]*\| ([^|]*) \|([^|]*)\|$", page, re.MULTILINE)
    assert len(rows) == 1, f"docs/formats.md needs one row for {endings}"
    assert rows[0][0] == format.documents
    assert (rows[0][1].strip() == f"`{' '.join(CODECS)}`") == format.compressible


def with_sources(group: click.Group) -> list[click.Command]:
    """The commands that take a SOURCE."""
    takers = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            takers += with_sources(command)
        elif any(isinstance(one, click.Argument) and one.name == "sources" for one in command.params):
            takers.append(command)
    return takers


TAKERS = with_sources(commands)


@pytest.mark.parametrize("command", TAKERS, ids=lambda one: one.callback.__module__)
def test_the_help_of_every_command_with_a_source_names_every_format(command: click.Command) -> None:
    for format in FORMATS.values():
        for ending in format.endings:
            assert re.search(rf"{re.escape(ending)}\b", command.help or ""), f"{command.name}: {ending}"


def test_the_commands_with_a_source_are_looked_at() -> None:
    assert {"pairs", "dedup", "sketch", "evaluate", "plan", "add", "query"} <= {one.name for one in TAKERS}


def test_help_names_every_ending_of_an_output() -> None:
    for command in ("pairs", "index query"):
        section = reference().split(f"## twinset {command}\n")[1].split("\n## ")[0]
        output = re.search(r"^\| `-o, --output PATH` \| (.*) \|$", section, re.MULTILINE)
        assert output
        assert all(ending in output[1] for ending in OUTPUT_ENDINGS)


def test_the_page_on_changing_names_files_that_are_there() -> None:
    page = (ROOT / "docs" / "changing.md").read_text("utf-8")
    named = set(re.findall(r"`((?:src|tests|docs)/[\w./]+|[A-Za-z]+\.(?:md|toml|lock))`", page))
    assert len(named) > 15
    assert not {name for name in named if not (ROOT / name).exists() and "NAME" not in name}
