"""The section Deduplication of a data set card: what was removed and why, and how it can be repeated.

It follows from the records of a run alone: no times, no machine, and no paths but those that the user named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from twinset.options import PairsOptions
from twinset.options.base import Options
from twinset.options.passages import PassagesOptions, TrimOptions
from twinset.report import sections
from twinset.report.card.command import changed_options, repeat
from twinset.report.card.markdown import block, code, table
from twinset.report.numbers import Numbers
from twinset.results.kept_rows import kept_documents, readable
from twinset.results.stored import StoredResult
from twinset.wording import counted, share

Summary = Mapping[str, Any]
_TITLE = "## Deduplication"
_SOURCES, _LARGEST = 30, 5
_LIMITS = {"jaccard": "threshold", "containment": "contained", "cosine": "threshold"}


def dedup_card(recorded: StoredResult) -> str:
    """Describe a run that removed or flagged documents."""
    numbers = Numbers(recorded)
    counts = [[name, f"{value:,}", remark] for name, value, remark in sections.count_rows(numbers)]
    always = [*_compared(recorded.options), "keep", "cluster"]
    return _joined(
        sections.lead(numbers),
        table(("", "number", ""), counts, 1),
        *_by_split(recorded),
        *_by_source(recorded),
        *_clusters(numbers),
        *_how_sure(numbers.summary, recorded.plan, numbers.noun),
        *_how(recorded.command, recorded.options, recorded.summary, always),
    )


def pairs_card(summary: Summary, options: PairsOptions, plan: Any) -> str:
    """Describe a run that found pairs and removed nothing."""
    of = "" if options.top is not None else " of near-duplicates"
    pairs = counted(summary["pairs"], f"pair{of}", f"pairs{of}")
    nearest = f", up to {options.top} for each" if options.top is not None else ""
    return _joined(
        f"Among {counted(summary['documents'], 'document')}, the search found {pairs}{nearest}. Nothing was removed.",
        *_how_sure(summary, plan, "document"),
        *_how("pairs", options, summary, _compared(options)),
    )


def passages_card(summary: Summary, options: PassagesOptions) -> str:
    """Describe a search for passages, which removes nothing."""
    shared, words = counted(summary["passages"], "shared passage"), counted(summary["words"], "word")
    some = f"{summary['documents_with_passages']:,} of {counted(summary['documents'], 'document')}"
    return _joined(
        f"The search found {shared}. In {some}, {summary['copied']:,} of {words} also occur in another document. "
        "Nothing was removed.",
        *_how("passages", options, summary, ["least"]),
    )


def trim_card(summary: Summary, options: TrimOptions) -> str:
    """Describe a run that cut repeated passages."""
    what = {"words": "passages", "line": "lines", "paragraph": "paragraphs"}[options.unit]
    documents, words = counted(summary["documents"], "document"), counted(summary["words"], "word")
    copies = "every copy" if options.everywhere else "later copies"
    rows = [
        ["documents", f"{summary['documents']:,}"],
        ["documents that were changed", f"{summary['documents_cut']:,}"],
        ["documents left with few or no words", f"{summary['left_with_few']:,}"],
        ["cuts", f"{summary['cuts']:,}"],
        ["words kept", f"{summary['words_kept']:,}"],
        ["words cut", f"{summary['words_cut']:,}"],
    ]
    return _joined(
        f"Of {words} in {documents}, {summary['words_cut']:,} were cut: {copies} of repeated {what}. All documents are "
        "kept.",
        table(("", "number"), rows),
        *_how("trim", options, summary, ["unit", "copies", "keep"]),
    )


def _joined(*parts: str) -> str:
    return "\n\n".join([_TITLE, *parts]) + "\n"


def _by_split(recorded: StoredResult) -> Iterator[str]:
    """Count documents by the splits of a data set, if they are known."""
    splits = recorded.summary["input"].get("splits")
    if not splits:
        return
    rows: dict[str, list[int]] = {}
    for split, counts in zip(splits, _counts(recorded), strict=False):
        rows[split] = [sum(pair) for pair in zip(rows.get(split, [0, 0, 0]), counts, strict=True)]
    cells = [[code(split) if split else "none", *(f"{one:,}" for one in counts)] for split, counts in rows.items()]
    yield table(("split", *_outcomes(recorded)), cells)


def _by_source(recorded: StoredResult) -> Iterator[str]:
    """Count documents by source, if there is more than one; many are added up in the last row."""
    counts = _counts(recorded)
    if len(counts) < 2:
        return
    sources = recorded.table("sources").slice(0, len(counts)).to_pylist()
    cells = [
        [code(one["path"]), *(f"{number:,}" for number in row), f"`{one['sha256'][:16]}`" if one["sha256"] else ""]
        for one, row in zip(sources[:_SOURCES], counts, strict=False)
    ]
    if len(counts) > _SOURCES:
        rest = np.sum(counts[_SOURCES:], axis=0)
        others = counted(len(counts) - _SOURCES, "other source")
        cells.append([others, *(f"{number:,}" for number in rest.tolist()), ""])
    yield table(("source", *_outcomes(recorded), "SHA-256 begins with"), cells)


def _outcomes(recorded: StoredResult) -> tuple[str, str, str]:
    return "documents", "kept", "flagged" if recorded.options.flag else "removed"


def _counts(recorded: StoredResult) -> list[list[int]]:
    """Return the documents, the kept and the removed ones of each part of the sources."""
    parts = np.asarray(recorded.documents["part"])[: recorded.own]
    kept, read = kept_documents(recorded), readable(recorded)
    roles = recorded.table("sources")["role"].to_pylist()
    columns = [np.bincount(parts[rows], minlength=roles.count("source")) for rows in (..., kept, read & ~kept)]
    counts: list[list[int]] = np.stack(columns, axis=1).tolist()
    return counts


def _clusters(numbers: Numbers) -> Iterator[str]:
    """The sizes of the clusters, and the largest of them."""
    if not numbers.clusters:
        return
    gone = "flagged" if numbers.recorded.options.flag else "removed"
    sizes = [[one.label, f"{one.clusters:,}", f"{one.removed:,}"] for one in numbers.size_classes]
    yield f"A cluster is a kept {numbers.noun} and those {gone} because of it."
    yield table((f"{numbers.noun}s in a cluster", "clusters", gone), sizes, 1)
    worst = np.max if numbers.by_distance else np.min
    rows = [
        [
            code(numbers.kept_ids[cluster].as_py()),
            f"{numbers.sizes[cluster]:,}",
            numbers.format_score(float(worst(numbers.scores[numbers.cluster_of == cluster]))),
        ]
        for cluster in numbers.largest(_LARGEST)
    ]
    extreme = f"{'largest' if numbers.by_distance else 'least'} {numbers.score}"
    yield table((f"largest clusters, by the kept {numbers.noun}", f"{numbers.noun}s", extreme), rows)


def _how_sure(summary: Summary, plan: Any, noun: str) -> Iterator[str]:
    """What the plan promises, and what the audit measured."""
    promise = str(plan)
    yield "### How sure"
    yield f"Promised by the plan: {promise}."
    audit = summary.get("audit")
    if audit is None:
        yield "The run was not audited: the share of missed pairs is known from the plan only."
        return
    were = "was" if audit["documents"] == 1 else "were"
    chosen = f"{counted(audit['documents'], f'distinct {noun}')}, chosen at random,"
    sample = f"{chosen} {were} compared exactly with all others"
    if audit["recall"] is None:
        yield f"Audit: {sample}. They have no pairs, so no recall is stated."
        return
    found = f"{audit['found']:,} of {counted(audit['pairs'], 'pair')}"
    measured = f"Measured by the audit: recall {share(audit['recall'])} ({found})"
    if audit["low"] < audit["high"]:
        yield f"{measured}; 95 % interval {share(audit['low'])} to {share(audit['high'])}. {sample}."
    else:
        yield f"{measured}. Every {noun} was compared exactly with all others, so this is not an estimate."


def _compared(options: Any) -> list[str]:
    """Return the options that say what a near-duplicate is."""
    limit = _LIMITS.get(options.measure, "distance")
    found = ["shingle"] if options.item_kind in ("text", "records") else []
    return [*found, limit, *(["recall"] if limit != "distance" else [])]


def _how(command: str, options: Options, summary: Summary, always: list[str]) -> Iterator[str]:
    """The options and versions of a run, and the command that repeats it."""
    specs, given = dict(options.specs()), summary.get("input", {})
    rows = {specs[name].spellings(name)[0]: str(getattr(options, name)) for name in always}
    rows = {flag: value for flag, value in rows.items() if value != "None"} | dict(changed_options(options, given))
    yield "### How it was done"
    version = f"Twinset {summary['version']}, hash scheme {summary['hash_scheme']}"
    yield f"{version}. All options that are not listed have the defaults of this version."
    yield table(("option", "value"), [[code(flag), code(value) if value else ""] for flag, value in rows.items()], 2)
    language, text = repeat(command, options, given)
    yield f"The same data, options and version give the same result:\n\n{block(language, text)}"


def options_of(kind: type[Options], summary: Summary) -> Any:
    """Return the options of a run from its summary."""
    values = summary["options"].items()
    return kind.of(**{name: tuple(value) if isinstance(value, list) else value for name, value in values})
