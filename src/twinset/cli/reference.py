"""Write the command reference: ``python -m twinset.cli.reference`` prints `docs/commands.md`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from twinset.cli.command_line import twinset
from twinset.cli.support.flags import SHOW

HEAD = """\
# Commands

This page is generated from the options; `make docs` updates it.

    twinset COMMAND …

| command | what it does |
|---|---|
"""
TAIL = """
## Exit codes

| code | meaning |
|---|---|
| 0 | done |
| 1 | `index verify` found problems; with other commands: internal error, and `--debug` shows where |
| 2 | wrong arguments, or an error in the sources, the index or the output; one line on stderr names it |
| 130 | stopped with Ctrl-C; no partial output is left; finished stages, and documents committed to an index, stay |
| 141 | the program that read the output closed it |
"""


def reference() -> str:
    """Return the page."""
    every = list(_commands(click.Context(twinset, info_name="twinset", **twinset.context_settings)))
    rows = [
        f"| [`{path}`](#{path.replace(' ', '-')}) | {_first_line(context.command)} |\n"
        for context in every
        for path in [context.command_path]
    ]
    return HEAD + "".join(rows) + "".join(map(_section, every)) + TAIL


def _commands(parent: click.Context) -> Iterator[click.Context]:
    """Yield each command of a group, and after a nested group its commands."""
    group = parent.command
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(parent):
        if command := group.get_command(parent, name):
            context = click.Context(command, info_name=name, parent=parent)
            yield context
            yield from _commands(context)


def _first_line(command: click.Command) -> str:
    return (command.help or "").strip().partition("\n")[0]


def _section(context: click.Context) -> str:
    command, path = context.command, context.command_path
    usage = " ".join(command.collect_usage_pieces(context))
    text = inspect.cleandoc(command.help or "")
    tables = "" if isinstance(command, click.Group) else "".join(_tables(command, context))
    return f"\n## {path}\n\n    {path} {usage}\n\n{text}\n{tables}"


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
