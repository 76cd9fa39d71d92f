"""Print what a run would read, plan and write, as tables for people."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from twinset.cli.screen import curves, show
from twinset.cli.support.passwords import hide_passwords
from twinset.cli.support.settings import Setting
from twinset.options import DedupOptions, PlanOptions
from twinset.options.checks import shown_size
from twinset.options.passages import TrimOptions
from twinset.plan.from_summary import plan_from_summary
from twinset.system.addresses import is_address, shown_address
from twinset.wording import counted_files

_PARTS = 20
_COLUMNS = 12


def print_dry_run(outline: Mapping[str, Any], options: Any, output: str | None, settings: Iterable[Setting]) -> None:
    """Print the sources, the plan, the place of the output, and where each setting comes from."""
    parts = [*outline.get("sources", {}).get("parts", ()), *outline.get("against", ())]
    parts = parts or [{"name": name, "documents": rows} for name, rows in outline.get("sketches", {}).items()]
    _print_parts(parts)
    click.echo()
    _print_facts(
        [
            *_about_sources(outline, parts),
            *_about_fetch(outline.get("fetch")),
            *_about_index(outline),
            ("plan", _plan(outline["plan"], options)),
            ("output", _place(output, options)),
            ("work", _work(outline)),
        ]
    )
    _print_settings(list(settings))
    click.echo()
    show.say("dry run: only headers were read, and nothing was written")


def _work(outline: Mapping[str, Any]) -> str:
    if "memory" not in outline:
        return str(outline["work"])
    return f"{show.count(outline['threads'], 'thread')}, up to {shown_size(outline['memory'])} of memory"


def _print_parts(parts: Sequence[Mapping[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("source", overflow="fold")
    known = [name for name in ("format", "documents", "bytes") if any(name in part for part in parts)]
    for name in known:
        table.add_column("size" if name == "bytes" else name, justify="left" if name == "format" else "right")
    for part in parts[:_PARTS]:
        table.add_row(Text(show.printable(str(part["name"]))), *(_cell(name, part.get(name)) for name in known))
    show.console().print(table)
    if len(parts) > _PARTS:
        click.echo(f"… and {len(parts) - _PARTS:,} more; --json lists all")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "?"
    if name == "bytes":
        return shown_size(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _about_sources(outline: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the total, the columns and what is skipped."""
    rows = []
    counts = [part.get("documents") for part in parts]
    whole = show.count(len(parts), "source")
    if "sources" in outline:
        whole += f", {shown_size(sum(part['bytes'] for part in parts))}"
    if parts and None not in counts:
        whole += f", {show.count(sum(filter(None, counts)), 'document')}"
    rows.append(("read", whole))
    columns = list(dict.fromkeys(name for part in parts for name in part.get("columns", ())))
    if columns:
        more = f", … ({len(columns)} in all)" if len(columns) > _COLUMNS else ""
        rows.append(("columns", show.printable(", ".join(columns[:_COLUMNS]) + more)))
    skipped = outline.get("sources", {}).get("skipped", ())
    if skipped:
        first = skipped[0]
        such = ", such as" if len(skipped) > 1 else ":"
        which = f"{show.named(str(first['name']))} ({first['reason']})"
        rows.append(("skipped", f"{counted_files([str(one['name']) for one in skipped])}{such} {which}"))
    return rows


def _about_fetch(fetch: Mapping[str, int] | None) -> list[tuple[str, str]]:
    """Say how much a run would fetch of remote sources."""
    if fetch is None:
        return []
    of = f" of {shown_size(fetch['of'])}" if fetch["bytes"] < fetch["of"] else ""
    return [("fetch", f"{shown_size(fetch['bytes'])}{of}, from {show.count(fetch['objects'], 'object')}")]


def _about_index(outline: Mapping[str, Any]) -> list[tuple[str, str]]:
    index = outline.get("index")
    return [("index", f"{index['name']}, {show.count(index['documents'], 'document')}")] if index else []


def _plan(values: Mapping[str, Any], options: PlanOptions) -> str:
    """Describe the plan; for codes and vectors it is made once all items are read."""
    if "least_words" in values:
        least, gram = (show.count(values[name], "word") for name in ("least_words", "gram_words"))
        return f"every run of at least {least}; one anchor in {show.count(values['window_grams'], 'gram')} of {gram}"
    if "chosen" not in values:
        return str(plan_from_summary(options, dict(values)))  # type: ignore[arg-type] # both have kinds of items
    limit = f"distance {values['distance']:g}" if "distance" in values else f"threshold {values['threshold']:g}"
    return f"{limit}; the rest is chosen {values['chosen']}"


def _place(output: str | None, options: Any) -> str:
    if not output:
        return "none given; a run needs -o OUT" if isinstance(options, (DedupOptions, TrimOptions)) else "the screen"
    if is_address(output):
        return str(shown_address(output))
    if not os.path.lexists(output):
        return f"{output} (new)"
    return f"{output} (exists; {'it would be replaced' if options.force else 'refused without --force'})"


def _print_facts(rows: Sequence[tuple[str, str]]) -> None:
    """Print names and values; long values are wrapped below their beginning."""
    wide = max(len(name) for name, _ in rows) + 2
    for name, value in rows:
        text = curves.wrapped(value, curves.window() - wide)
        click.echo(f"{name:<{wide}}" + text.replace("\n", "\n" + " " * wide))


def _print_settings(settings: Sequence[Setting]) -> None:
    """Print what was given, and where; all other options have their defaults."""
    from rich.table import Table
    from rich.text import Text

    given = [one for one in settings if one.name not in ("dry-run", "json", "output")]
    if not given:
        return
    click.echo()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("setting", "value", "from"):
        table.add_column(heading, overflow="fold")
    for one in given:
        table.add_row(one.name, Text(hide_passwords(_value(one.value))), one.origin)
    show.console().print(table)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return " ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
