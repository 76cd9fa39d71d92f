"""``twinset demo``: run dedup on a bundled sample and explain the result."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run
from twinset.errors import OutputError
from twinset.options import DedupOptions

SAMPLE = "articles.jsonl"
SHOWN = 12


@click.command("demo", cls=flags.Command, short_help="Run dedup on a bundled sample, with explanations.")
@flags.output("Folder for the result; by default a temporary one, removed at the end.")
@flags.shown
def command(output: str | None, as_json: bool) -> None:
    """Run dedup on a small bundled sample, and explain the result."""
    with as_file(files(__package__) / "sample" / SAMPLE) as source, _folder(output) as out:
        if not as_json:
            _introduce(source)
        summary, removed, pairs = _run(source, out, quiet=as_json)
        if as_json:
            show.as_json(summary)
            return
        texts = {row["id"]: row for row in map(json.loads, source.read_text("utf-8").splitlines())}
        _explain_pairs(pairs, texts)
        _explain_removals(removed, summary["clusters"], texts)
        _explain_rest(summary, texts)
        _say_what_next(output)


@contextmanager
def _folder(output: str | None) -> Iterator[Path]:
    if output:
        if os.path.lexists(output):
            raise OutputError(f"{output} exists; choose another folder")
        yield Path(output)
        return
    with TemporaryDirectory(prefix="twinset-demo-") as folder:
        yield Path(folder) / "OUT"


def _run(source: Path, out: Path, quiet: bool) -> tuple[dict[str, Any], list[Any], list[Any]]:
    import twinset

    with run.followed(DedupOptions(), quiet) as progress:
        result = twinset.dedup(source, output=out, progress=progress)
    return dict(result.summary), result.removed.to_pylist(), result.pairs.to_pylist()


def _heading(text: str) -> None:
    click.secho(f"\n{text}", bold=True)


def _introduce(source: Path) -> None:
    lines = source.read_text("utf-8").splitlines()
    _heading(f"The sample: {len(lines)} short texts as JSON lines")
    click.echo("News, mirror pages, recipes and notices in several languages and scripts; some are copies of")
    click.echo("others, edited a little. This is what the demo runs:\n")
    click.echo(f"  twinset dedup {SAMPLE} --threshold 0.8 -o OUT/\n")


def _explain_pairs(pairs: list[dict[str, Any]], texts: dict[str, Any]) -> None:
    _heading(f"Pairs: {len(pairs)} at least 0.8 similar, each verified on the full texts")
    for row in sorted(pairs, key=lambda row: -row["similarity"])[:SHOWN]:
        left, right = texts[row["left"]]["text"], texts[row["right"]]["text"]
        click.echo(f"  {show.share(row['similarity'])}  {row['left']} ~ {row['right']}  {_difference(left, right)}")
    if len(pairs) > SHOWN:
        click.echo(f"  … and {len(pairs) - SHOWN} more")


def _difference(left: str, right: str) -> str:
    """Describe the first difference of two texts."""
    import difflib

    from twinset.textbook import normalize  # imported late: a part of the textbook needs NumPy

    if left == right:
        return "(the same text)"
    if normalize(left, lowercase=False) == normalize(right, lowercase=False):
        return "(the same text in another Unicode form)"
    if normalize(left) == normalize(right):
        return "(only upper and lower case differ)"
    a, b = left.split(), right.split()
    if len(a) < 2:
        a, b = list(left), list(right)
    gap = " " if " " in left else ""
    for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            was, now = (show.shortened(gap.join(part), 28) or "nothing" for part in (a[i:j], b[k:m]))
            return f"(first difference: {was} → {now})"
    return "(only white space differs)"


def _explain_removals(removed: list[Any], clusters: int, texts: dict[str, Any]) -> None:
    _heading(f"Clusters: {clusters}; the first document of each is kept, {len(removed)} others are removed")
    reasons: dict[str, list[Any]] = {}
    for row in removed:
        reasons.setdefault(row["because_of"], []).append(row)
    for kept, rows in reasons.items():
        click.echo(f"  {kept} is kept: {show.shortened(texts[kept]['text'], 60)}")
        for row in rows:
            share = f"{show.share(row['in_kept'])} of its shingles are in the kept one"
            click.echo(f"      {row['id']} is removed: similarity {show.share(row['similarity'])}, {share}")
    chain = [name for name in ("notice-1", "notice-2", "notice-3", "notice-4") if name in texts]
    gone = {row["id"] for row in removed}
    if chain and chain[2] not in gone:
        click.echo(
            f"  {chain[2]} resembles {chain[1]}, which is removed, but not {chain[0]}, so it stays: a\n"
            "  document is only ever removed because of one that is kept; near-duplicates never chain."
        )


def _explain_rest(summary: dict[str, Any], texts: dict[str, Any]) -> None:
    _heading("Nothing is lost")
    click.echo(
        f"  {summary['documents']} documents = {summary['kept']} kept + {summary['removed']} removed"
        f" + {summary['unreadable']} unreadable"
    )
    click.echo(f"  {show.count(summary['empty'], 'document')} without words: kept, but never paired")


def _say_what_next(output: str | None) -> None:
    _heading("What to try next")
    for line, purpose in (
        ("twinset dedup FOLDER -o OUT/", "your own folder of texts"),
        ("twinset pairs DATA.parquet --threshold 0.7 -o pairs.parquet", "pairs only"),
        ("twinset dedup A.jsonl B.jsonl --keep source,longest -o OUT/", "A wins over B, then the longest"),
        ('twinset compare --string "…" --string "…" --shingle char:5', "two texts, exactly"),
        ("twinset plan --threshold 0.7 --recall 0.99", "how reliably pairs are found"),
    ):
        click.echo(f"  {line:<62}  {purpose}")
    if output:
        click.echo(f"\nThe result is in {output}.")
