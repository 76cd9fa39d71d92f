"""The six steps, in order: documents → shingles → sketches → candidates → pairs → clusters."""

import time
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import twinset
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.in_memory.base import Measured
from twinset.engines.local.run import Local
from twinset.engines.local.steps import cluster
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.cluster_beside_index import Earlier, grouped
from twinset.engines.local.steps.read import Found
from twinset.engines.local.steps.verify import Verifying
from twinset.engines.local.write import results as outputs
from twinset.engines.local.write.pairs import document_pairs, nearest_first, top_pairs, write_result
from twinset.engines.local.write.summary import counts_of, dedup_counts, given_input, named_of
from twinset.engines.local.write.table_file import check_ending
from twinset.engines.progress import Progress, Silent
from twinset.errors import OptionError, PlanWarning
from twinset.evaluation import recall_interval
from twinset.jobs.result import DedupResult, PairsResult
from twinset.options import DedupOptions, PairsOptions
from twinset.options.checks import new_file
from twinset.options.items import MEASURED
from twinset.options.sketch import holds_sketches
from twinset.plan import Plan, exact_plan, plan
from twinset.results.stored import sealed
from twinset.system.spool import Spool
from twinset.wording import counted

if TYPE_CHECKING:
    from twinset.index.dedup import IndexedDedup
    from twinset.index.index import Index


def find_pairs(*sources: object, output: Any = None, progress: Progress | None = None, **words: Any) -> PairsResult:
    """Find every pair of documents at least as similar as the threshold.

    Parameters
    ----------
    *sources
        Paths, patterns, lists of texts, mappings id → text, or tables with Arrow's stream interface; of other kinds
        of items lists and mappings of them, and NumPy arrays of vectors and codes. Or else sketches
        (`twinset.sketch`), whose pairs are estimates.
    output
        A file for the pairs, ending in .parquet, .csv or .jsonl; without it they are kept in memory.
    progress
        Told how the work goes.
    **words
        The options of `twinset pairs`, by the same words.

    Returns
    -------
    PairsResult
        With `.pairs` (an Arrow table), `.summary` and `.plan`.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> found = twinset.find_pairs([rose, rose + " hall", "something else"], shingle="word:3")
    >>> found.pairs.select(["left", "right"]).to_pylist()
    [{'left': '0', 'right': '1'}]
    """
    place = Path(output) if output is not None else None
    if any(map(holds_sketches, sources)):
        from twinset.jobs import estimate  # its kernels are a moment that other runs need not wait

        return estimate.find_estimated(sources, words, place, twinset.__version__, progress or Silent())
    options = PairsOptions.of(**words)
    chosen = _plan_of(options)
    if place is not None:
        check_ending(place)
        new_file(place, options.force)
    with Local(sources, options, chosen, place, twinset.__version__, progress or Silent()) as run:
        corpus, found = run.read(whole=False)
        copies = run.collapse(corpus)
        pairs, verifying, candidates = _near(run, corpus, copies)
        if corpus.border is not None:
            run.refuse_flood(verifying.identical_across(pairs, copies))
        results = outputs.Results(corpus, copies, verifying.sizes, scoring=_scoring(verifying))
        audited = run.audit(corpus, copies, pairs, verifying, candidates)
        since = time.perf_counter()
        run.progress.stage("writing", None, "pairs")
        made = run.room_for_output(f"out{place.suffix if place else '.parquet'}")
        link = options.identical == "link"
        every = document_pairs(run, corpus, copies, pairs, link)
        if options.top is not None and options.item_kind == "vectors":
            every = nearest_first(run, results, pairs)
        elif options.top is not None:
            every = top_pairs(run, results, every, options.top)
        count = results.write_pairs(made, every)
        run.timed("write", since)
        summary = {
            **counts_of(corpus, copies, found, run),
            "named": named_of(corpus, found),
            "pairs": count,
            "candidates": candidates,
            "audit": recall_interval.summary_of(audited, results) if audited else None,
            **run.facts(),
        }
        table = None if place is not None else pa.parquet.read_table(made)
        if place is not None:
            outputs.put_in_place(made, place, run.state.folder / "old")
    return PairsResult(summary, run.plan, place, table, options.measure)


def dedup(*sources: object, output: Any = None, progress: Progress | None = None, **words: Any) -> DedupResult:
    """Remove near-duplicates, and say why for each.

    Parameters
    ----------
    *sources
        Paths, patterns, lists of texts, mappings id → text, or tables with Arrow's stream interface; of other kinds
        of items lists and mappings of them, and NumPy arrays of vectors and codes.
    output
        A folder for the result; without it the tables are kept in memory.
    progress
        Told how the work goes.
    **words
        The options of `twinset dedup`, by the same words.

    Returns
    -------
    DedupResult
        With `.kept`, `.removed`, `.clusters`, `.pairs` (Arrow tables), `.summary` and `.plan`.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> done = twinset.dedup({"a": rose, "b": rose + " hall", "c": "something else"}, shingle="word:3")
    >>> done.kept["id"].to_pylist(), done.removed["because_of"].to_pylist()
    (['a', 'c'], ['a'])
    """
    options = DedupOptions.of(**words)
    place = Path(output) if output is not None else None
    if options.index is None:
        return _deduplicated(sources, options, None, place, progress or Silent())
    from twinset.index import dedup as arriving  # a database and more, which other runs need not wait for

    with arriving.open_index(options.index) as index:
        return _deduplicated(sources, arriving.dedup_options(words, index), index, place, progress or Silent())


def _deduplicated(
    sources: tuple[object, ...], options: DedupOptions, index: "Index | None", place: Path | None, progress: Progress
) -> DedupResult:
    chosen = _plan_of(options)
    outputs.check_place(place, options.force)
    files = index.files if index is not None else ()
    with (
        Local(sources, options, chosen, place, twinset.__version__, progress, files) as run,
        _arriving(index, run) as arriving,
    ):
        corpus, found = run.read(whole=True)
        copies = run.collapse(corpus)
        pairs, verifying, candidates = _near(run, corpus, copies)
        audited = run.audit(corpus, copies, pairs, verifying, candidates)
        # From here on an index is held: what it does not have now, no other run can add.
        scored = arriving.earlier(corpus, copies) if arriving else None
        earlier = scored.reaching(options.threshold) if scored else None
        clusters = _clusters(run, corpus, copies, found, pairs, verifying, earlier)
        results = outputs.Results(corpus, copies, verifying.sizes, earlier, _scoring(verifying))
        if arriving:
            arriving.add(results, clusters)
        since = time.perf_counter()
        made = run.room_for_output("out")
        count = write_result(run, results, clusters, pairs, found, made)
        if scored:
            scored.write(made / "earlier.parquet", corpus, copies)
        if audited:
            recall_interval.write_missed(made / "missed.parquet", audited, results)
        run.timed("write", since)
        summary = {
            **dedup_counts(run, results, clusters, found),
            "pairs": count,
            "candidates": candidates,
            "index": arriving.summary(earlier.count(copies)) if arriving and earlier else None,
            "audit": recall_interval.summary_of(audited, results) if audited else None,
            "input": given_input(run, found),
            **run.facts(),
        }
        summary = sealed(made, summary) if place is not None else summary
        outputs.write_summary(made / "summary.json", summary)
        result = DedupResult(summary, run.plan, place)
        if place is None:
            result.load(made, _kept_table(run, corpus, clusters), (*run.given, *options.against))
        else:
            outputs.put_in_place(made, place, run.state.folder / "old")
        if arriving:
            arriving.commit(place)
    return result


def _arriving(index: "Index | None", run: Local) -> "AbstractContextManager[IndexedDedup | None]":
    if index is None:
        return nullcontext()
    from twinset.index.dedup import IndexedDedup

    run.progress.note(f"index {index.name}: {counted(len(index), 'document')}; plan: {run.plan}")
    return IndexedDedup(index, run)


def dry_run(sources: Any, options: PairsOptions | DedupOptions, words: dict[str, Any] | None = None) -> dict[str, Any]:
    """Say what would be read and planned, and read nothing but heads and footers.

    `words` are those that were given themselves; an index has its own for all others.
    """
    if not isinstance(options, DedupOptions) or options.index is None:
        return _outlined(sources, options, ())
    from twinset.index import dedup as arriving

    with arriving.open_index(options.index, read_only=True) as index:
        settled = arriving.dedup_options({**(words or {}), "index": options.index}, index)
        about = {"name": index.name, "documents": len(index)}
        return {"index": about, **_outlined(sources, settled, index.files)}


def _outlined(sources: Any, options: PairsOptions | DedupOptions, own_files: Sequence[str]) -> dict[str, Any]:
    chosen = _plan_of(options)
    with Local(tuple(sources), options, chosen, None, twinset.__version__, Silent(), own_files) as run:
        return {
            "sources": run.found.describe(),
            "against": [part.describe() for part in run.parts[run.against :]],
            "plan": _planned_later(options) if options.item_kind in MEASURED else chosen.to_dict(),
            "options": options.to_dict(),
            "threads": run.threads.count,
            "memory": run.budget.total,
        }


def _planned_later(options: PairsOptions | DedupOptions) -> dict[str, Any]:
    """What is known of a plan before the items are read."""
    if options.measure in ("bits", "distance"):
        return {"distance": options.farthest, "chosen": "when all are read"}
    return {"threshold": options.least, "recall": options.recall, "chosen": "when all are read"}


def _near(run: Local, corpus: Corpus, copies: Copies) -> tuple[Spool, Verifying | Measured, int]:
    """The pairs, what can say more of them, and how many were compared for them."""
    if run.options.item_kind in MEASURED:
        pairs, held = run.compare(corpus, copies)
        return pairs, held, held.candidates
    candidates = run.candidates(corpus, copies)
    return *run.verify(corpus, candidates, copies), len(candidates)


def _scoring(verifying: Verifying | Measured) -> Measured | None:
    return verifying if isinstance(verifying, Measured) else None


def _plan_of(options: PairsOptions | DedupOptions) -> Plan:
    # What has a measure of its own has no sketches, and plans when it is in memory.
    if options.item_kind in MEASURED or (isinstance(options, PairsOptions) and options.exact):
        return exact_plan(options.threshold)
    with warnings.catch_warnings():
        if isinstance(options, DedupOptions) and options.index is not None:
            warnings.simplefilter("ignore", PlanWarning)  # whoever made the index was warned
        return plan(options.least, options.recall, options.n_hashes, options.n_bands, options.rows_per_band)


def _clusters(
    run: Local, corpus: Corpus, copies: Copies, found: Found, pairs: Spool, verifying: Any, earlier: Earlier | None
) -> Clusters:
    since = time.perf_counter()
    options = run.options
    if not isinstance(options, DedupOptions):
        raise OptionError("clusters are made by dedup only")
    run.progress.stage("clustering", None, "documents")
    rank = cluster.ranks(corpus, options.keep_rules, found.own_ids)
    if options.lowest < options.limit:
        near = Spool(run.state.scratch / "near", "<u4", 3)
        pairs = cluster.near_enough(pairs, verifying.similarity, options.limit, near, run.budget.pairs)
    clusters = grouped(corpus, copies, pairs, rank, options.cluster, run.budget, earlier, run.state.scratch)
    if options.cluster == "components":
        scratch, out = (Spool(run.state.scratch / name, "<u4", columns) for name, columns in (("apart", 2), ("why", 3)))
        clusters = cluster.with_reasons(clusters, copies, verifying, scratch, out)
    run.timed("cluster", since)
    return clusters


def _kept_table(run: Local, corpus: Corpus, clusters: Clusters) -> pa.Table:
    tables = []
    for number in range(run.against):
        taking = run.parts[number].taking()
        read = corpus.read(run.threads, lambda span, block: block, whole=True, parts=range(number, number + 1))
        for span, block in read:
            taking.write(block, clusters.kept[span.first : span.first + span.rows])
        tables += taking.tables()
    return DedupResult.joined(tables)
