"""Find pairs of existing sketches by estimated similarity, without the documents."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from twinset.engines.local.budget import peak_bytes
from twinset.engines.local.copies import Copies, expanded
from twinset.engines.local.run import refuse_many_identical
from twinset.engines.local.sketch_files.estimate import EstimateRun, check_given
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.steps import candidates
from twinset.engines.local.steps.sketch import EMPTY
from twinset.engines.local.steps.top_pairs import most_similar
from twinset.engines.local.write.tables import ResultTables
from twinset.engines.progress import Progress, Silent
from twinset.errors import OptionError, OutputError
from twinset.jobs.pairs import PairsResult
from twinset.options import PairsOptions
from twinset.options.checks import new_file
from twinset.options.formats import check_output_name
from twinset.options.sketch import holds_sketches
from twinset.schema import HASH_SCHEME
from twinset.system.atomic_files import replace_atomically
from twinset.system.scratch import Spool


def are_sketches(sources: tuple[object, ...]) -> bool:
    """Whether all sources are files of sketches; a mixture is an error.

    Examples
    --------
    >>> are_sketches((["a text"], "nothing-there.jsonl"))
    False
    """
    holding = [holds_sketches(one) for one in sources]
    if any(holding) and not all(holding):
        one, other = holding.index(True), holding.index(False)
        raise OptionError(
            f"SOURCE {one + 1} is a file of sketches and SOURCE {other + 1} is not; sketch the documents first "
            "(twinset sketch), or give the documents of both"
        )
    return any(holding)


def find_estimated(
    sources: tuple[object, ...], given: dict[str, Any], output: Path | None, version: str, progress: Progress
) -> PairsResult:
    """Find every pair of sketches whose estimated similarity reaches the threshold."""
    started = time.perf_counter()
    are_sketches(sources)
    options = PairsOptions.of(**given)
    _check_options(options, given)
    if output is not None:
        check_output_name(str(output))
        new_file(output, options.force)
        for one in (*sources, *options.against):
            if isinstance(one, (str, os.PathLike)) and output.exists() and os.path.samefile(one, output):
                raise OutputError(f"{output} is both a source and the output; choose another output")
    with ExitStack() as stack:
        run = stack.enter_context(EstimateRun(sources, options, progress))
        progress.note(f"plan: {run.plan}")
        run.read()
        corpus = run.corpus
        copies = Copies.of(candidates.first_appearances(corpus), corpus.status)
        if corpus.border is None and options.identical == "all":
            refuse_many_identical(copies.identical_pairs, "sketches")
        pairs, compared = run.join(copies)
        if corpus.border is not None and options.identical == "all":
            refuse_many_identical(run.identical_across(copies, pairs), "sketches")
        results = ResultTables(corpus, copies, run)
        progress.stage("writing", None, "pairs")
        draft = run.state.folder / "out.parquet" if output is None else stack.enter_context(replace_atomically(output))
        count = results.write_pairs(draft, _order_pairs(run, copies, pairs))
        summary = {
            "documents": corpus.own,
            "against": corpus.documents - corpus.own,
            "empty": int(np.count_nonzero(corpus.status == EMPTY)),
            "identical": copies.extra,
            "pairs": count,
            "candidates": compared,
            "estimate": True,
            "audit": None,
            "sketch": run.scheme.sketch,
            "n_hashes": run.scheme.n_hashes,
            "options": options.to_dict(),
            "plan": run.plan.to_dict(),
            "timings": {
                "seconds": {"total": round(time.perf_counter() - started, 3)},
                "threads": run.threads.count,
                "memory": run.budget.total,
                "peak_resident": peak_bytes(),
            },
            "version": version,
            "hash_scheme": HASH_SCHEME,
        }
        table = None if output is not None else pq.read_table(draft)
    return PairsResult(summary, run.plan, output, table, "estimate")


def outlined(sources: tuple[object, ...], options: PairsOptions, given: dict[str, Any]) -> dict[str, Any]:
    """Describe what would be read and planned; only footers are read."""
    are_sketches(sources)
    _check_options(options, given)
    with EstimateRun(sources, options, Silent()) as run:
        return {
            "sketches": {source.name: source.rows for source in run.sources},
            "made": {"sketch": run.scheme.sketch, "hashes": run.scheme.n_hashes, **run.scheme.items},
            "plan": run.plan.to_dict(),
            "threads": run.threads.count,
            "memory": run.budget.total,
        }


def _order_pairs(run: EstimateRun, copies: Copies, pairs: Spool) -> Iterator[Rows]:
    """Yield the pairs of all rows in order, including those of identical sketches."""
    all_pairs = Spool(run.state.scratch / "every", "<u4", 3)
    one_sided = run.corpus.border is not None
    for rows in expanded(copies, pairs, link=run.options.identical == "link", one_sided=one_sided):
        if len(rows):
            all_pairs.append(rows, run.budget.pairs)
    all_pairs.close()
    ordered = sorted_portions(all_pairs, run.corpus.documents, run.budget.pairs)
    if run.options.top is None:
        return ordered
    work = (run.corpus.documents, run.state.scratch, run.budget)
    return most_similar(ordered, run.options.top, run.similarity, *work, one_sided=one_sided)


def _check_options(options: PairsOptions, given: dict[str, Any]) -> None:
    check_given(options, given)
    if not all(map(holds_sketches, options.against)):
        raise OptionError(
            "the sources are files of sketches, but --against is not; sketch those documents too (twinset sketch), "
            "with the same options"
        )
