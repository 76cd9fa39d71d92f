"""``twinset explain``: explain why two documents are similar, or why one was removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from twinset.cli.compare import text_of
from twinset.cli.screen import codes_and_vectors, copied_table, pairs_table, passages, show, texts
from twinset.cli.support import flags, run
from twinset.errors import OptionError
from twinset.options import ShingleOptions
from twinset.options.items import MEASURED
from twinset.options.place import result_folder
from twinset.options.results import ExplainOptions

if TYPE_CHECKING:
    from twinset.jobs.result import Account, DedupResult, Explanation

MEMBERS = 12


class ExplainCommand(flags.Command):
    """A command whose arguments are ids, which may begin with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an unknown option may be an id."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = "Write an id that begins with - after --, as in: twinset explain OUT -- ID"
            raise click.UsageError(f"{error.format_message()} {hint}", ctx) from error


@click.command(
    "explain", cls=ExplainCommand, options_metavar="[OPTIONS]", short_help="Explain a removal, or how two texts differ."
)
@click.argument("arguments", nargs=-1, metavar="A B | OUT [ID [ID]]")
@click.option("--string", "strings", multiple=True, metavar="TEXT", cls=flags.Flag, help="A text; give two.")
@flags.flags_of(ExplainOptions)
@flags.shown
def command(arguments: tuple[str, ...], strings: tuple[str, ...], as_json: bool, **values: Any) -> None:
    """Explain how two documents resemble each other, why one was removed, or what it shares with others.

    A B: two files. OUT: the largest clusters of a result folder, or of the result beside a file of kept rows. OUT ID:
    a document of the result, with the reason for its removal and its cluster. OUT ID ID: two documents of the result.

    Prints the similarity, the containment of each document in the other, the words that differ side by side, and the
    shared and unshared shingles. For sets it prints their elements, for codes the bits that differ, for vectors their
    angle and lengths, for a result of passages the passages that two documents share. A terminal shows the first of
    many clusters, documents and shingles; --json has everything.
    """
    given = flags.given(ExplainOptions, values)
    options = ExplainOptions.of(**given)
    if not strings and arguments and result_folder(arguments[0]).is_dir():
        _explain_result(arguments, given, options, as_json)
    else:
        _explain_texts(arguments, strings, given, options, as_json)


def _explain_texts(
    files: tuple[str, ...], strings: tuple[str, ...], given: dict[str, Any], options: ExplainOptions, as_json: bool
) -> None:
    if len(files) + len(strings) != 2 or len(files) == 1:
        raise OptionError(
            f"{show.count(len(files), 'file')} and {show.count(len(strings), 'string')} to explain; allowed: "
            "two files, --string twice, or a result folder with one or two ids"
        )
    if options.source:
        raise OptionError("--source applies only to a result folder; leave it out")
    left, right = strings or [text_of(name, options.encoding) for name in files]
    import twinset

    run.load(lambda text: click.echo(text, err=True))
    explanation = twinset.explain(left, right, **given)
    names = files or ("the first string", "the second string")
    if as_json:
        show.as_json({"left": names[0], "right": names[1], **explanation.to_dict(_context(options))})
    else:
        _print_explanation(explanation, names[0], names[1], options)


def _explain_result(arguments: tuple[str, ...], given: dict[str, Any], options: ExplainOptions, as_json: bool) -> None:
    if len(arguments) > 3:
        raise OptionError(f"{arguments[0]} is followed by {len(arguments) - 1} ids; allowed: none, one or two")
    for name, _ in (*ShingleOptions.specs(), ("encoding", None)):
        if name in given and flags.typed(name):
            raise OptionError(
                f"{name} is fixed by {arguments[0]}: documents are explained with the options of that run; leave it out"
            )
    import twinset

    run.load(lambda text: click.echo(text, err=True))
    result: Any = twinset.open_result(arguments[0])
    if "passages" in result.summary:
        _explain_passages(result, arguments[1:], options, as_json)
        return
    if len(arguments) == 1:
        _list_clusters(result, arguments[0], as_json)
        return
    account = result.explain(*arguments[1:], source=options.source)
    if as_json:
        show.as_json(account.to_dict(_context(options)))
        return
    _print_account(account, contained=result.recorded.options.measure == "containment")
    if account.explanation is not None and account.other is not None:
        click.echo()
        gone = account.state in ("removed", "flagged")
        _print_explanation(account.explanation, account.id, account.other, options, kept_right=gone)
    elif account.apart is not None and account.other is not None:
        click.echo()
        codes_and_vectors.print_item_difference(account.apart, account.id, account.other)
    elif result.recorded.options.item_kind in MEASURED:
        if len(arguments) == 3:
            _print_pair(result, account.id, arguments[2])
    elif account.other is not None:
        click.echo("the index has no text to compare it with")


def _list_clusters(result: DedupResult, name: str, as_json: bool) -> None:
    """Print the largest clusters; as JSON all of them."""
    from twinset.results.explain import largest_clusters

    every = largest_clusters(result.recorded)
    if as_json:
        summary = {"clusters": every.num_rows, "removed": result.summary["removed"]}
        show.as_json({**summary, "largest": every.to_pylist()})
        return
    if not every.num_rows:
        click.echo("no document was removed")
        return
    verb = "flagged" if result.recorded.options.flag else "removed"
    rows = every.slice(0, MEMBERS).to_pylist()
    digits = len(f"{rows[0]['removed']:,}")
    for row in rows:
        kept, example = (show.named(row[key]) for key in ("kept", "example"))
        score = _scored(row) + ("" if "distance" in row else " similar")
        show.say(f"{row['removed']:>{digits},} {verb} because of {kept}, such as {example} ({score})")
    if every.num_rows > MEMBERS:
        click.echo(f"… and {show.count(every.num_rows - MEMBERS, 'more cluster')}; --json lists all")
    show.say(f"twinset explain {name} ID shows one of them, with its differences")


def _explain_passages(result: Any, ids: tuple[str, ...], options: ExplainOptions, as_json: bool) -> None:
    """Print the documents with the most copied words, or the passages of two documents."""
    if not ids:
        if as_json:
            show.as_json({**result.summary, "copied": result.copied.to_pylist()})
        else:
            copied_table.print_copied(result.copied)
        return
    found = result.explain(*ids, source=options.source)
    if as_json:
        show.as_json(found.to_dict())
    else:
        passages.print_passages(found.passages, found.contents, (found.left, found.right), _context(options))


def _context(options: ExplainOptions) -> int | None:
    return None if options.full else options.context


def _scored(row: dict[str, Any], *, contained: bool = False) -> str:
    """Write the similarity or the distance of a row; with `contained`, the share of a removed document."""
    if contained:
        return show.share(row["in_kept"])
    return f"distance {row['distance']:g}" if "distance" in row else show.share(row["similarity"])


def _print_pair(result: DedupResult, one: str, other: str) -> None:
    """Print the score of two items without words, if they are a pair."""
    lefts, rights = (result.pairs[name].to_pylist() for name in ("left", "right"))
    both = enumerate({left, right} for left, right in zip(lefts, rights, strict=True))
    row = next((number for number, pair in both if pair == {one, other}), None)
    names = " and ".join(show.named(name) for name in (one, other))
    if row is not None:
        click.echo(f"{names}: {_scored(result.pairs.slice(row, 1).to_pylist()[0])}")
    else:
        click.echo(f"{names} are not a pair of that run; pairs.parquet has the scores of all pairs")


def _print_account(account: Account, *, contained: bool) -> None:
    """Print whether the document was kept or removed, and its cluster; `contained` says that others hold it."""
    name = show.named(account.id)
    members = account.members
    if account.state in ("removed", "flagged"):
        why = members.filter([one == account.id for one in members["id"].to_pylist()]).to_pylist()[0]
        kept = show.named(str(account.cluster))
        near = f"it is at {_scored(why)} from" if "distance" in why else f"it is {_scored(why)} similar to"
        if contained:
            near = f"{_scored(why, contained=True)} of its shingles are in"
        judged = "people judged the two to be duplicates; " if why.get("verdict") else ""
        click.echo(f"{name} was {account.state}: {judged}{near} {kept}, which is kept")
    else:
        because = {
            "kept": "is kept",
            "empty": "is kept: it has no words and was not compared",
            "unreadable": "could not be read and was skipped",
            "against": "is a document of the --against source, and is kept",
            "earlier": "is a document of the index, and is kept",
        }[account.state]
        why = f": {account.reason}" if account.reason else ""
        click.echo(f"{name} {because}{why}")
    others = [row for row in members.to_pylist() if row["id"] != account.id]
    if others:
        gone = account.state in ("removed", "flagged")
        first = f"also {account.state} because of that document" if gone else "removed because of it"
        click.echo(f"{first}: {show.count(len(others), 'document')}")
        for row in others[:MEMBERS]:
            click.echo(f"  {_scored(row, contained=contained)}  {show.named(row['id'])}")
        if len(others) > MEMBERS:
            click.echo(f"  … and {len(others) - MEMBERS:,} more; --json lists all")
    elif account.state == "kept":
        click.echo("no other document was removed because of it")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _print_explanation(
    explanation: Explanation, left: str, right: str, options: ExplainOptions, kept_right: bool = False
) -> None:
    """Print the scores, the difference and the shingles; `kept_right`: the left text was removed, the right one not."""
    ours, theirs = (show.named(name) for name in (left, right))
    shared, only_left, only_right = explanation.shared, explanation.left_only, explanation.right_only
    n_left, n_right = len(shared) + len(only_left), len(shared) + len(only_right)
    every = len(shared) + len(only_left) + len(only_right)
    of_texts = explanation.unit == "shingle"
    unit = explanation.unit if every == 1 else f"{explanation.unit}s"
    unit += f" ({explanation.shingle})" if of_texts else ""
    scores = (
        (explanation.similarity, f"{every:,} {unit} {_are(every)} in both"),
        (explanation.left_in_right, f"{n_left:,} {_are(n_left)} in the other"),
        (explanation.right_in_left, f"{n_right:,} {_are(n_right)} in the other"),
    )
    how = "by weight; " if explanation.weighted else ""
    values = [f"{show.share(value)}  {how}{len(shared):,} of {whole}" for value, whole in scores]
    heads = pairs_table.heads(left, right, beside=max(map(len, values)) + len("  of   "))
    show.facts(zip(("similarity", *(f"of {head}" for head in heads)), values, strict=True))
    if of_texts:
        texts.print_difference(explanation, ours, theirs, _context(options), kept_right)
    most = None if options.full else options.shingles
    texts.print_shingles(
        ((f"only in {ours}", only_left, "-"), (f"only in {theirs}", only_right, "+"), ("in both", shared, " ")),
        most,
        explanation.unit,
        kept_right,
    )
