"""The command reference: ``python -m twinset.cli.reference`` prints `docs/commands.md`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from . import COMMANDS, twinset
from .flags import SHOW

HEAD = """\
# Commands

Made from the options themselves: `make docs` writes this page anew.

    twinset COMMAND …

| command | what it does |
|---|---|
"""
TAIL = """
## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 2 | something was wrong with the words, the sources or the output; one line on stderr says what |
| 130 | stopped with Ctrl-C; nothing half-written is left |
| 141 | the program that read the output closed it |
| 1 | a mistake in Twinset itself; `--debug` shows where |
"""


def reference() -> str:
    """Write the page."""
    context = click.Context(twinset, info_name="twinset", **twinset.context_settings)
    commands = [(name, command) for name in COMMANDS if (command := twinset.get_command(context, name))]
    rows = [f"| [`twinset {name}`](#twinset-{name}) | {_first_line(one)} |\n" for name, one in commands]
    sections = [_section(name, command, context) for name, command in commands]
    return HEAD + "".join(rows) + "".join(sections) + TAIL


def _first_line(command: click.Command) -> str:
    return (command.help or "").strip().partition("\n")[0]


def _section(name: str, command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    text = inspect.cleandoc(command.help or "")
    tables = "".join(_tables(command, context))
    return f"\n## twinset {name}\n\n    twinset {name} {usage}\n\n{text}\n{tables}"


def _tables(command: click.Command, context: click.Context) -> Iterator[str]:
    groups: dict[str, list[str]] = {SHOW: []}
    for param in command.get_params(context):
        if isinstance(param, click.Option) and (record := param.get_help_record(context)):
            flag, help = (cell.replace("|", "\\|") for cell in record)
            groups.setdefault(getattr(param, "group", SHOW), []).append(f"| `{flag}` | {help} |\n")
    groups[SHOW] = groups.pop(SHOW)
    for title, rows in groups.items():
        yield f"\n| {title} | |\n|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
