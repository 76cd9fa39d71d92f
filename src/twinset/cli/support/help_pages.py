"""Help pages: the common flags first, all of them by theme on request; and the settings that are in force."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import click

from twinset.cli.support.settings import Setting

_ALL = f"{__name__}.all"  # in `Context.meta`: whether every flag is shown


def help_all_flag(cls: type[click.Option]) -> click.Option:
    """Make the flag that shows the help page with all flags."""

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[_ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return cls(
        ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=show,
        help="Show the help with all options, by theme.",
    )  # fmt: skip


def write_flags(
    params: Sequence[click.Parameter], ctx: click.Context, formatter: click.HelpFormatter, last: str
) -> None:
    """Write the flags by heading, the heading `last` at the end.

    A command with many flags shows the common ones under one heading, and below them the names of the others.
    """
    brief = any("--help-all" in param.opts for param in params) and not ctx.meta.get(_ALL)
    shown: dict[str, list[tuple[str, str]]] = {}
    others: dict[str, list[str]] = {}
    for param in params:
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record is None:
            continue
        group = getattr(param, "group", last)
        if brief and not getattr(param, "common", True):
            others.setdefault(group, []).append(param.opts[0])
        else:
            shown.setdefault("Common options" if brief and group != last else group, []).append(record)
    shown[last] = shown.pop(last, [])
    for title, records in shown.items():
        with formatter.section(title):
            formatter.write_dl(records, col_max=26)
    if others:
        count = sum(map(len, others.values()))
        with formatter.section(f"{count} more options, described by --help-all"):
            width = max(map(len, others))
            for title, names in others.items():  # click's own lists break the name of an option at its hyphens
                first, later = f"  {title:<{width}}  ", " " * (width + 4)
                lines = textwrap.fill(
                    ", ".join(names), formatter.width, initial_indent=first, subsequent_indent=later,
                    break_on_hyphens=False,
                )  # fmt: skip
                formatter.write(f"{lines}\n")


def settings_lines(settings: Iterable[Setting]) -> list[str]:
    """Return a line for each origin of settings: names only, because a value may hold a password.

    Examples
    --------
    >>> settings_lines([Setting("threads", 2, "twinset.toml [common]"), Setting("bag", True, "TWINSET_PAIRS_BAG")])
    ['set in twinset.toml [common]: threads', 'set in TWINSET_PAIRS_BAG: bag']
    """
    by_origin: dict[str, list[str]] = {}
    for one in settings:
        by_origin.setdefault(one.origin, []).append(one.name)
    return [f"set in {origin}: {', '.join(names)}" for origin, names in by_origin.items()]
