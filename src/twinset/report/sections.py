"""The static sections of the report. All values from a run are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from twinset.options import DedupOptions
from twinset.options.checks import shown_size
from twinset.options.items import VECTORS
from twinset.options.results import ReportOptions
from twinset.report import page_charts
from twinset.report.excerpts import EXCERPTS
from twinset.report.numbers import Bin, Numbers
from twinset.wording import counted, share

MISSED = 50
_WORDS, _ELEMENTS = "The words that differ", "The elements"
_DIFFER = {
    "text": _WORDS, "records": _WORDS, "items": _ELEMENTS, "groups": _ELEMENTS, "weighted": _ELEMENTS,
    "codes": "The bits that differ",
}  # fmt: skip
_IDENTICAL = {"images": "same hash", "codes": "same code", "vectors": "same vector", "sparse": "same vector"}


def lead(numbers: Numbers) -> str:
    """One sentence: numbers of documents read, kept and removed."""
    summary, options = numbers.summary, numbers.recorded.options
    done = "flagged" if options.flag else "removed"
    of_index = " or was already in the index" if summary.get("index") else ""
    apart = f"at most {numbers.format_score(numbers.reach)} apart"
    near = apart if numbers.by_distance else f"at least {options.threshold:g} similar"
    one = summary["removed"] == 1
    each = "as a near-duplicate: it is" if one else "as near-duplicates: each is"
    why = f"{each} {near} to one that is kept{of_index}."
    if numbers.contained:
        why = f"because a kept one contains at least {options.threshold:g} of {'it' if one else 'each'}."
    if numbers.by_distance:
        why = f"{each} {near.removesuffix(' apart')} from one that is kept."
    if options.cluster == "components":
        why = f"because {'it is' if one else 'they are'} connected to a kept one through pairs {near}."
    documents = counted(summary["documents"], numbers.noun)
    judged = (summary.get("verdicts") or {}).get("removed", 0)
    if judged:
        why += f" For {judged:,} of these, people judged the two to be duplicates, whatever their score."
    kept = counted(summary["kept"], "is kept", "are kept")
    return f"Of {documents}, {kept} and {summary['removed']:,} {done} {why}"


def figures(numbers: Numbers) -> str:
    """The main counts."""
    return counts(count_rows(numbers))


def count_rows(numbers: Numbers) -> list[tuple[str, int, str]]:
    """The main counts: name, number, and a remark."""
    summary, options = numbers.summary, numbers.recorded.options
    whole = summary["documents"] or 1
    gone = "flagged" if options.flag else "removed"
    rows = [
        (f"{numbers.noun}s", summary["documents"], _size(numbers)),
        ("kept", summary["kept"], percent(summary["kept"] / whole)),
        (gone, summary["removed"], percent(summary["removed"] / whole)),
        ("clusters", summary["clusters"], "of two or more"),
        ("pairs", summary["pairs"], _origin(numbers)),
        (_IDENTICAL.get(options.item_kind, "identical copies"), summary["identical"], _earlier(numbers)),
        ("empty", summary["empty"], "kept"),
        ("unreadable", summary["unreadable"], "skipped"),
        ("compared against", summary["against"], "of the other source"),
    ]
    if index := summary.get("index"):
        rows += [
            ("in the index", index["documents"], "also compared with"),
            (f"{gone} because of these", index["matched"], percent(index["matched"] / whole)),
        ]
    always = (f"{numbers.noun}s", "kept", "removed", "flagged", "clusters", "pairs")
    return [row for row in rows if row[1] or row[0] in always]


def counts(rows: Iterable[tuple[str, int, str]]) -> str:
    """Counts in large figures: name, number, and a remark."""
    cells = "".join(
        f'<div><dt>{name}</dt><dd>{value:,}<span class="small">{escape(more)}</span></dd></div>'
        for name, value, more in rows
    )
    return f'<dl class="figures">{cells}</dl>'


def _origin(numbers: Numbers) -> str:
    """Where the pairs come from; identical items are compared once, so that each copy adds a pair and no candidate."""
    summary = numbers.summary
    verified = f"{counted(summary['candidates'], 'candidate')} verified"
    if not summary["identical"] or summary["against"] or summary.get("index"):
        return verified
    return f"{verified}; {summary['identical']:,} between copies"


def _earlier(numbers: Numbers) -> str:
    """What identical items are copies of, and how many of them in every byte."""
    same, summary = "as" if numbers.recorded.options.item_kind in _IDENTICAL else "of", numbers.summary
    exact = "" if summary["verbatim"] == summary["identical"] else f"; {summary['verbatim']:,} byte for byte"
    return f"{same} an earlier {numbers.noun}{exact}"


def _size(numbers: Numbers) -> str:
    """Amount of data read."""
    if numbers.recorded.options.images:
        sizes = numbers.recorded.table("sources")["bytes"].to_pylist()
        return f"{shown_size(sum(size or 0 for size in sizes))} of files"
    of = "of text" if numbers.recorded.options.item_kind in ("text", "records") else "of items"
    return f"{shown_size(numbers.summary['text_bytes'])} {of}"


def sure(numbers: Numbers) -> str:
    """The plan's guarantee and the audit's measurement."""
    plan, expected = numbers.sketched, numbers.expected_missed if numbers.sketched else 0.0
    if plan is None:
        promised = f'<div class="card">{_promised(numbers)}</div>'
        audit = f'<div class="card">{_audit(numbers)}</div>' if numbers.audit else ""
        return f'<div class="two">{promised}{audit}</div>{_missed(numbers)}'
    pairs = sum(one.count for one in numbers.histogram)
    promise = (
        f'<h3>Promised by the plan</h3><p class="big">{share(plan.reached)}</p><p>is the probability that a pair '
        f"exactly at {plan.threshold:g} is found; more similar pairs are found with higher probability. "
        f"{counted(plan.n_hashes, 'hash', 'hashes')} in {counted(plan.n_bands, 'band')} of "
        f"{counted(plan.rows_per_band, 'row')}.</p>"
    )
    exactly = "Every reported pair was compared exactly."
    if pairs:
        missed_pairs = f"about {expected:.1f}" if expected >= 0.05 else "fewer than 0.1"
        exactly = (
            f"Judging by the similarities of the {counted(pairs, 'pair')} found here that are not identical, the plan "
            f"expects {missed_pairs} missed pairs. {exactly}"
        )
    promised = f'<div class="card">{promise}<p class="note">{exactly}</p></div>'
    return f'<div class="two">{promised}<div class="card">{_audit(numbers)}</div></div>{_missed(numbers)}'


def _promised(numbers: Numbers) -> str:
    """The guarantee of the plan of codes, vectors or weighted sets."""
    promise = str(numbers.plan)
    promise = promise[0].upper() + promise[1:]
    exactly = "Every reported pair was compared exactly."
    if numbers.recorded.options.images:
        exactly = (
            "Only the 64-bit hashes of the pictures were compared, not the pictures themselves: look at two pictures "
            "to decide whether they are copies."
        )
    return (
        f'<h3>Promised by the plan</h3><p class="big">{share(numbers.plan.reached)}</p><p>is the probability that a '
        f'pair exactly at the limit is found. {escape(promise)}.</p><p class="note">{exactly}</p>'
    )


def _audit(numbers: Numbers) -> str:
    audit = numbers.audit
    head = "<h3>Measured by the audit</h3>"
    if audit is None:
        return f"{head}<p>This run was not audited, so the share of missed pairs is known from the plan only.</p>"
    chosen = audit["documents"]
    were = "was" if chosen == 1 else "were"
    what = counted(chosen, f"distinct {numbers.noun}")
    sample = f"{what}, chosen at random, {were} compared exactly with all others."
    if audit["recall"] is None:
        return f"{head}<p>{sample} They have no pairs, so no recall is stated.</p>"
    result = (
        f'{head}<p class="big">{share(audit["recall"])}</p><p>of the true pairs were found: {audit["found"]:,} of '
        f"{audit['pairs']:,}."
    )
    if audit["low"] == audit["high"]:  # a complete sample needs no inference
        return f"{result} Every {numbers.noun} was compared exactly with all others, so this is not an estimate.</p>"
    requested = getattr(numbers.plan, "recall", numbers.plan.reached)
    drawn = page_charts.interval(audit["low"], audit["high"], audit["recall"], requested)
    bounds = f"from {share(audit['low'])} to {share(audit['high'])}"
    return (
        f"{result} With 95 % confidence the share in the whole collection is {bounds}.</p>{drawn}"
        f'<p class="note">{sample}</p>'
    )


def _missed(numbers: Numbers) -> str:
    """The pairs that the audit found and the run missed."""
    rows = (numbers.audit or {}).get("missed") or []
    if not rows:
        return ""
    body = table(
        ("left", "right", numbers.score),
        [[str(row["left"]), str(row["right"]), numbers.format_score(numbers.score_of(row))] for row in rows[:MISSED]],
        numbers_from=2,
    )
    more = f'<p class="note">The first {MISSED} of {len(rows):,}.</p>' if len(rows) > MISSED else ""
    return f'<div class="card missed-pairs"><h3>Missed pairs that the audit found</h3>{body}{more}</div>'


def similarity(numbers: Numbers) -> str:
    """The histogram, and the S-curve with the pairs of the corpus on it."""
    if numbers.by_distance:
        return _distances(numbers)
    bins, threshold = numbers.histogram, numbers.recorded.options.threshold
    missed = [numbers.score_of(row) for row in (numbers.audit or {}).get("missed") or []]
    different = sum(one.count for one in bins)
    note = f"{counted(different, 'pair')} drawn; {numbers.identical:,} more {_alike(numbers)}."
    if numbers.floor < threshold:
        note += f" The search went down to {numbers.floor:g}; pairs below {threshold:g} remove nothing."
    much = "How much of the smaller one is in the larger" if numbers.contained else "How similar the pairs are"
    drawn = (
        f'<figure class="card"><h3>{much}</h3>{page_charts.histogram(bins, threshold)}'
        f"<figcaption>{note}</figcaption>{_counts(numbers, bins)}</figure>"
    )
    if numbers.sketched is None:
        return f'<div class="two">{drawn}</div>'
    crosses = " Crosses are pairs that the audit found and the run had missed." if missed else ""
    dots = "The line is the probability that the plan promises. Dots are pairs of this collection: larger is more."
    dots += crosses
    curve = page_charts.s_curve(numbers.sketched, bins, missed, threshold)
    return (
        f'<div class="two">{drawn}<figure class="card"><h3>How reliably a pair is found</h3>'
        f"{curve}<figcaption>{dots}</figcaption></figure></div>"
    )


def _counts(numbers: Numbers, bins: Sequence[Bin]) -> str:
    """The numbers behind the bars, for small screens and close values."""
    bits = numbers.measure == "bits"
    rows = [
        [f"{one.middle:g}" if bits else f"{one.low:.4g} to {one.high:.4g}", f"{one.count:,}"]
        for one in bins
        if one.count
    ]
    if not rows:
        return ""
    listed = table((f"{numbers.score}{' in bits' if bits else ''}", "pairs"), rows, numbers_from=1)
    return f'<details class="counts"><summary>The numbers</summary>{listed}</details>'


def _alike(numbers: Numbers) -> str:
    """Describe what pairs of similarity 1 have in common, for this kind of item."""
    kind, one = numbers.recorded.options.item_kind, numbers.identical == 1
    if kind in VECTORS:
        return "has the same direction" if one else "have the same direction"
    what = {"items": "elements", "groups": "elements", "weighted": "elements and weights"}.get(kind, "shingles")
    return f"{'shares' if one else 'share'} all {what}"


def _distances(numbers: Numbers) -> str:
    """The histogram of distances."""
    chart = page_charts.distances(numbers.distances, bits=numbers.measure == "bits")
    same, every = numbers.identical, counted(len(numbers.pair_distances), "pair")
    note = f"{every}; {same:,} of them {'is' if same == 1 else 'are'} at distance 0."
    if numbers.ceiling > numbers.reach:
        note += (
            f" The search went up to {numbers.format_score(numbers.ceiling)} apart; pairs beyond "
            f"{numbers.format_score(numbers.reach)} remove nothing."
        )
    return (
        f'<div class="two"><figure class="card"><h3>How far apart the pairs are</h3>{chart}'
        f"<figcaption>{note}</figcaption>{_counts(numbers, numbers.distances)}</figure></div>"
    )


def clusters(numbers: Numbers, options: ReportOptions) -> str:
    """Cluster sizes, and a description of the list below."""
    classes, one = numbers.size_classes, numbers.noun
    if not classes:
        return "<p>There are no clusters: nothing was removed.</p>"
    most = max(size.removed for size in classes)
    rows = "".join(
        f'<tr><th scope="row">{size.label}</th><td class="number">{size.clusters:,}</td>'
        f'<td class="number">{size.removed:,}</td><td class="spark">'
        f'<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{max(100 * size.removed / most, 0.6):.2f}" height="10"/></svg></td></tr>'
        for size in classes
    )
    heads = "".join(f'<th scope="col" class="number">{name}</th>' for name in ("clusters", "removed"))
    head = f'<tr><th scope="col">{one}s in it</th>{heads}<td></td></tr>'
    kind = {
        "leader": f"every removed {one} was compared with the kept one and is near it",
        "complete": f"all its {one}s are near each other",
        "components": f"its {one}s are connected through pairs, and some may be far from the kept one",
    }[numbers.recorded.options.cluster]
    meaning = f"A cluster is a kept {one} and the {one}s removed because of it; {kind}."
    doubt = f"The most doubtful clusters are those with the least similar removed {one}."
    differ = _DIFFER.get(numbers.recorded.options.item_kind)
    if options.texts and options.clusters < numbers.clusters and differ:
        doubt += (
            f" {differ} are shown for the {options.clusters:,} largest and the {options.clusters:,} most "
            "doubtful ones; for others the page names the command that shows them."
        )
    return f'<p>{meaning} {doubt}</p><div class="card scroll"><table>{head}{rows}</table></div>'


def sought(numbers: Numbers, options: ReportOptions) -> str:
    """Describe what a search looks at: the id, and what the page shows of an item."""
    kind = numbers.recorded.options.item_kind
    shown = {_WORDS: "words", _ELEMENTS: "elements"}.get(_DIFFER.get(kind, "")) if options.texts else None
    return f"id or {shown}" if shown else "id"


def removed(numbers: Numbers, options: ReportOptions) -> str:
    """Description of the list of removed documents."""
    if not numbers.summary["removed"]:
        return "<p>Nothing was removed.</p>"
    left_out = {"document": "Texts", "record": "Texts"}.get(numbers.noun, f"{numbers.noun.capitalize()}s")
    more = "" if options.texts else f" {left_out} were left out of this report."
    if options.texts and numbers.recorded.options.item_kind == "text" and numbers.summary["removed"] > EXCERPTS:
        more = f" The first {EXCERPTS:,} are listed with the beginning of their text, and can be found by its words."
    return f"<p>Each with the kept {numbers.noun} it resembles.{more}</p>"


def done(numbers: Numbers) -> str:
    """Options, plan, sources and timings."""
    summary = numbers.summary
    defaults = DedupOptions.defaults()
    options = [(one, one[1] != _plain(defaults.get(one[0]))) for one in summary["options"].items()]
    set_here = [one for one, changed in options if changed]
    others = facts(one for one, changed in options if not changed)
    changed = facts(set_here) if set_here else "<p>All options had their defaults.</p>"
    times = [(name, f"{value:,.3f} s") for name, value in summary["timings"]["seconds"].items()]
    run = [
        ("version", summary["version"]),
        ("hash scheme", summary["hash_scheme"]),
        ("threads", summary["timings"]["threads"]),
        ("memory limit", shown_size(summary["timings"]["memory"])),
        ("bytes replaced in", counted(summary["replaced"], numbers.noun)),
        *times,
    ]
    skipped = table(("file", "reason"), [[str(part) for part in one] for one in summary["skipped"][:200]])
    passed_over = f'<div class="card whole scroll"><h3>Skipped files</h3>{skipped}</div>' if summary["skipped"] else ""
    unchanged = "<summary>All other options, at their defaults</summary>"
    return (
        f'<div class="done"><div class="card"><h3>Options that were set</h3>{changed}</div>'
        f'<div class="card"><h3>The run</h3>{facts(run)}</div>'
        f'<div class="card whole scroll"><h3>Sources</h3>{_sources(numbers)}</div>{passed_over}'
        f'<div class="card whole"><details>{unchanged}{others}</details></div></div>'
    )


def _sources(numbers: Numbers) -> str:
    rows = [
        [
            one["path"],
            one["role"],
            one["format"],
            f"{one['documents']:,}",
            "" if one["bytes"] is None else shown_size(one["bytes"]),
            (one["sha256"] or "")[:16],
        ]
        for one in numbers.recorded.table("sources").slice(0, 500).to_pylist()
    ]
    total = numbers.recorded.table("sources").num_rows
    more = f'<p class="note">The first 500 of {total:,}; sources.parquet has all.</p>' if total > 500 else ""
    return table(("path", "role", "format", f"{numbers.noun}s", "size", "sha-256 begins with"), rows) + more


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers_from: int | None = None) -> str:
    """An HTML table of escaped texts."""

    def cell(tag: str, place: int, text: str) -> str:
        kind = ' class="number"' if numbers_from is not None and place >= numbers_from else ""
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{scope}{kind}>{escape(text)}</{tag}>"

    head = "".join(cell("th", place, text) for place, text in enumerate(heads))
    body = "".join(f"<tr>{''.join(cell('td', place, text) for place, text in enumerate(row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def facts(rows: Iterable[tuple[str, Any]]) -> str:
    """An HTML table of names and values."""
    cells = ((escape(name.replace("_", " ")), escape(_value(value))) for name, value in rows)
    body = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in cells)
    return f"<table>{body}</table>"


def _value(value: Any) -> str:
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def percent(part: float) -> str:
    """A share in percent, never rounded to 0 or 100.

    Examples
    --------
    >>> percent(0.99999), percent(1.0), percent(0.125), percent(0.00001), percent(0.0)
    ('99.9 %', '100 %', '12.5 %', '0.1 %', '0 %')
    """
    if part in (0, 1):
        return f"{part * 100:.0f} %"
    return f"{min(max(round(part * 100, 1), 0.1), 99.9):.1f} %"
