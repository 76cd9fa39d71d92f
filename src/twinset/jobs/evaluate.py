"""Evaluate one run against the truth, of pairs at the lowest threshold or of passages, and write the measures."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

import twinset
from twinset.clusters.group import components
from twinset.engines.base import Job
from twinset.engines.local.copies import expanded
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import SimilarityJoin
from twinset.engines.local.passages.places import sides_in_texts
from twinset.engines.local.passages.run import LocalPassageRun
from twinset.engines.local.run import LocalEngine, LocalRun
from twinset.engines.local.steps.sketch import READ, UNREADABLE
from twinset.engines.local.write.place import check_output, move_to_output
from twinset.engines.local.write.summary import run_facts
from twinset.engines.progress import ProgressChoice, reporting
from twinset.errors import OptionError
from twinset.evaluation import sweep
from twinset.evaluation.find_cases import find_cases, oriented
from twinset.evaluation.passage_result import PassageEvaluation, compare_passages
from twinset.evaluation.read_passages import read_passages
from twinset.evaluation.read_truth import Truth, read_truth, resolved
from twinset.evaluation.result import Evaluation, best_of, definitions, write_files
from twinset.evaluation.true_pairs import MOST_SAMPLED, ExactPairs, ScoredPairs, TruePairs, among, each_once, unpaired
from twinset.options import ContainmentOptions, DedupOptions, ReadOptions, RunOptions, ShingleOptions
from twinset.options.checks import shown_size
from twinset.options.evaluate import EvaluateOptions
from twinset.options.items import MEASURED
from twinset.options.passages import PassagesOptions
from twinset.report.evaluation_plots import evaluation_figures
from twinset.report.plots import check_figure
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool

_NEEDS_IDS = "a truth names documents by unique ids"
_PAIR_BYTES = 96  # memory per pair while it is sorted and measured


@overload
def evaluate(
    *sources: object, passages: object, output: Any = None, progress: ProgressChoice = None, **options: Any
) -> PassageEvaluation: ...


@overload
def evaluate(
    *sources: object, output: Any = None, progress: ProgressChoice = None, **options: Any
) -> Evaluation: ...


def evaluate(
    *sources: object, output: Any = None, progress: ProgressChoice = None, **options: Any
) -> Evaluation | PassageEvaluation:
    """Measure how well near-duplicates are found, against a truth or against the exact join.

    Parameters
    ----------
    *sources
        Paths, patterns, lists of texts, mappings id → text, or tables with Arrow's stream interface.
    output
        A folder for the measures and their plots; without it they are only returned.
    progress
        Bars for True, silence for False, or an object that receives the progress of the run. By default bars appear on
        a terminal and in a notebook.
    **options
        The options of `twinset evaluate`, as keyword arguments. `truth` may also be a list of pairs of ids, a mapping
        from id to cluster, or a table with Arrow's stream interface. `passages`, a file or such a table of true
        passages, searches passages instead of pairs.

    Returns
    -------
    Evaluation
        With `.measures` and `.shares` (Arrow tables), `.best`, `.summary` and `.plan`. For passages a
        `PassageEvaluation` with `.precision`, `.recall`, `.granularity`, `.plagdet`, `.summary`, and the Arrow tables
        `.cases`, `.detections` and `.elsewhere`.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> texts = {"a": rose, "b": rose + " hall", "c": "something else"}
    >>> done = twinset.evaluate(texts, truth=[("a", "b"), ("a", "c")], shingle="word:3")
    >>> done.best["precision"], done.best["recall"]
    (1.0, 0.5)
    """
    checked = EvaluateOptions.of(**options)
    if "threshold" in options and checked.sweep is not None:
        raise OptionError(f"threshold {checked.threshold:g} and sweep {checked.sweep} cannot be combined; give one")
    path = Path(output) if output is not None else None
    check_output(path, checked.force, "evaluation.json", "an earlier evaluation")
    if checked.passages is not None:
        return _evaluate_passages(sources, checked, path, progress)
    if path is not None and checked.plots != "none":
        check_figure(path / f"f1.{checked.plots}")
    truth = None if checked.exact else read_truth(checked.truth)
    run_options = _run_options(checked)
    needs = "" if checked.exact else _NEEDS_IDS
    job = Job(sources, run_options, twinset.__version__, path, needs_ids=needs)
    with reporting(progress) as reporter, LocalEngine().open(dataclasses.replace(job, progress=reporter)) as run:
        corpus = run.read()
        copies = run.collapse(corpus)
        join = run.plan(corpus, copies)
        candidates = run.candidates(join)
        pairs = run.verify(join, candidates)
        found = _score_pairs(run, join, pairs)
        known, facts = _read_known(run, checked, truth, join)
        sampled = _measure_sample(run, known, join, candidates.rows or pairs)
        summary = _summary(run, checked, join, found, known, facts, sampled)
        if path is not None:
            draft = run.room_for_output("out")
            write_files(summary, draft)
            if checked.plots != "none":
                run.progress.stage("drawing", None, "plots")
                curve = sweep.curves(found, known, checked.thresholds[0])
                evaluation_figures(summary, curve, join.plan, draft, checked.plots, checked.by_distance)
            move_to_output(draft, path, run.state.folder / "old")
    return Evaluation(summary, join.plan, path)


def _run_options(options: EvaluateOptions) -> DedupOptions:
    """Return the options of the run: a dedup at the lowest threshold."""
    groups = (RunOptions, ContainmentOptions, ShingleOptions, ReadOptions)
    shared = {field.name: getattr(options, field.name) for group in groups for field in dataclasses.fields(group)}
    lowest = options.threshold if options.by_distance else options.thresholds[0]
    if options.contained is not None:
        shared["least_shingles"] = 1  # pairs are measured, not removals
    return DedupOptions(**{**shared, "threshold": lowest, "cluster": options.cluster, "audit": 0})


def _score_pairs(run: LocalRun, join: SimilarityJoin, pairs: Spool) -> ScoredPairs:
    """Return every pair of documents, including identical ones, with its similarity."""
    copies, across = join.copies, join.corpus.border is not None
    count = 0 if across else copies.identical_pairs
    for rows in pairs.chunks():
        count += int((copies.counts[rows[:, 0]].astype(np.int64) * copies.counts[rows[:, 1]]).sum())
    if count * _PAIR_BYTES > run.budget.total:
        raise OptionError(
            f"measuring {count:,} pairs needs {shown_size(count * _PAIR_BYTES)} of memory, more than the "
            f"{shown_size(run.budget.total)} of --memory; raise the lowest threshold or the memory, or measure a sample"
        )
    rows = np.concatenate([np.empty((0, 3), np.uint32), *expanded(copies, pairs, link=False, one_sided=across)])
    left, right = np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])
    return ScoredPairs.of(left, right, join.similarity(rows))


def _read_known(
    run: LocalRun, options: EvaluateOptions, truth: Truth | None, join: SimilarityJoin
) -> tuple[TruePairs, dict[str, Any]]:
    """Return the truth by document number, and facts about it."""
    corpus = join.corpus
    if truth is not None:
        return resolved(truth, _all_ids(corpus), corpus.status != UNREADABLE, corpus.border)
    since = time.perf_counter()
    exact_pairs = Spool(run.state.scratch / "exact-pairs", "<u4", 3)
    join.join_all(exact_pairs)
    run.timed("exact", since)
    return ExactPairs(corpus.documents, _score_pairs(run, join, exact_pairs), options.cluster), {"kind": "exact"}


def _measure_sample(run: LocalRun, known: TruePairs, join: SimilarityJoin, candidates: Spool) -> sweep.SampledPairs:
    """Measure a sample of true pairs, found or missed, and mark those that became candidates."""
    corpus, copies = join.corpus, join.copies
    left, right = (copies.first[numbers] for numbers in known.sample())
    left, right = unpaired(each_once(left, right))
    read = (corpus.status[left] == READ) & (corpus.status[right] == READ)
    wanted = Spool(run.state.scratch / "true", "<u4", 2)
    wanted.append(np.stack([left[read], right[read]], axis=1))
    scored = Spool(run.state.scratch / "true-pairs", "<u4", 3)
    join.measure_all(wanted, scored)
    rows = np.concatenate([np.empty((0, 3), np.uint32), *scored.chunks()])
    ordered = np.sort(pair_words(rows[:, 0], rows[:, 1]))
    is_candidate = np.zeros(len(ordered), np.bool_)
    for chunk in candidates.chunks():
        keys = pair_words(chunk[:, 0], chunk[:, 1])
        is_candidate[np.searchsorted(ordered, keys[among(keys, ordered)])] = True
    found = is_candidate[np.searchsorted(ordered, pair_words(rows[:, 0], rows[:, 1]))]
    # Documents without tokens have similarity 0.
    zeros = np.zeros(int(np.count_nonzero(~read)))
    similarity = np.concatenate([join.similarity(rows), zeros])
    family = components(corpus.documents, [rows, np.stack([left, right], axis=1)])
    return sweep.SampledPairs(
        similarity,
        np.concatenate([found, zeros.astype(np.bool_)]),
        family[np.concatenate([rows[:, 0], left[~read]])],
    )


def _summary(
    run: LocalRun, options: EvaluateOptions, join: SimilarityJoin, found: ScoredPairs, known: TruePairs,
    facts: dict[str, Any], sampled: sweep.SampledPairs,
) -> dict[str, Any]:  # fmt: skip
    since = time.perf_counter()
    run.progress.stage("measuring", len(options.thresholds), "thresholds")
    readable, border = join.corpus.status != UNREADABLE, join.corpus.border
    clusters = None if options.contained is not None else options.cluster  # a container is in no cluster of its parts
    rows = sweep.measures(found, known, options.thresholds, clusters, readable, border)
    run.progress.advance(len(rows))
    best = best_of(rows)
    verified = options.item_kind in MEASURED
    shares = [] if options.by_distance else sweep.shares(sampled, join.plan, options.thresholds[0], verified)
    true = known.count(options.thresholds[0])
    run.timed("measure", since)
    return {
        "documents": int(np.count_nonzero(readable[:border])),
        "against": 0 if border is None else int(np.count_nonzero(readable[border:])),
        "unreadable": int(np.count_nonzero(~readable)),
        "identical": join.copies.extra,
        "truth": facts,
        "best": {"threshold": abs(best["threshold"]), "f1": best["f1"]} if best else None,
        "measures": [{**row, "threshold": abs(row["threshold"])} for row in rows],
        "shares": shares,
        "sampled": {"true_pairs": true, "looked_at": min(true, MOST_SAMPLED)},
        "definitions": definitions(facts["kind"], between=border is not None),
        **run_facts(run, join.plan.to_dict()),
        "options": options.to_dict(),
    }


def _all_ids(corpus: Corpus) -> pa.Array:
    """Return the id of every document, by number."""
    return pa.concat_arrays([pa.array([], pa.large_string()), *corpus.names.all().cast(pa.large_string()).chunks])


def _evaluate_passages(
    sources: tuple[object, ...], options: EvaluateOptions, path: Path | None, progress: ProgressChoice
) -> PassageEvaluation:
    """Search passages, and compare them with the true ones."""
    searching = dataclasses.fields(PassagesOptions)
    shared = {field.name: getattr(options, field.name) for field in searching if hasattr(options, field.name)}
    truth = read_passages(options.passages)
    job = Job(sources, PassagesOptions(**shared), twinset.__version__, path, needs_ids=_NEEDS_IDS)
    with reporting(progress) as reporter, LocalPassageRun(dataclasses.replace(job, progress=reporter)) as run:
        corpus = run.read()
        ids, border = _all_ids(corpus), corpus.border
        cases, facts = find_cases(truth, ids, border, options.within)
        rows = run.verify(corpus, run.candidates(corpus)).rows
        run.progress.stage("measuring", len(rows), "passages")
        since = time.perf_counter()
        places = sides_in_texts(corpus, run.options, run.threads, rows)
        left, right = (rows[:, side].astype(np.int64) for side in (0, 1))
        passages = oriented(left, right, places)
        readable = corpus.status != UNREADABLE
        done = compare_passages(cases, passages, ids, options.complete, {"truth": facts})
        run.timed("measure", since)
        done.summary.update(
            documents=int(np.count_nonzero(readable[:border])),
            against=0 if border is None else int(np.count_nonzero(readable[border:])),
            unreadable=int(np.count_nonzero(~readable)),
            **{**run_facts(run, run.sizes.to_dict()), "options": options.to_dict()},
        )
        if path is not None:
            draft = run.room_for_output("out")
            done.write(draft)
            move_to_output(draft, path, run.state.folder / "old")
    return dataclasses.replace(done, path=path)
