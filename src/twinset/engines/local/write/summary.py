"""What a summary says of the documents: how many there were, what became of them, and where they came from."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.run import Local
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.read import Found
from twinset.engines.local.steps.sketch import EMPTY, UNREADABLE
from twinset.engines.local.write.results import Results
from twinset.errors import TwinsetError
from twinset.system import batch_sizes
from twinset.wording import counted


def given_input(run: Local, found: Found) -> dict[str, Any]:
    """The sources as they were given, for whoever reads them again."""
    given = {"sources": described(run.given), "against": described(run.options.against)}
    return {**given, "own_ids": found.own_ids}


def counts_of(corpus: Corpus, copies: Copies, found: Found, run: Local) -> dict[str, Any]:
    """What a summary counts of any run."""
    status = corpus.status[: corpus.own]
    return {
        "documents": corpus.own,
        "empty": int(np.count_nonzero(status == EMPTY)),
        "unreadable": int(np.count_nonzero(status == UNREADABLE)),
        "identical": copies.extra,
        "replaced": found.replaced,
        "skipped": [list(one) for one in run.skipped],
        "against": corpus.documents - corpus.own,
        "text_bytes": found.text_bytes,
        **({} if found.rows is None else {"rows": found.rows}),
        **({} if not found.replaced else {"replaced_in": _ids(corpus, found.replaced_in)}),
    }


def _ids(corpus: Corpus, numbers: list[int]) -> list[str]:
    named: list[str] = corpus.take_ids(np.array(numbers, np.uint32)).to_pylist()
    return named


def named_of(corpus: Corpus, found: Found) -> dict[str, Any]:
    """The first thousand ids of what has no pairs because it could not be read, or holds no token."""
    empty = np.flatnonzero(corpus.status[: corpus.own] == EMPTY)[: batch_sizes.NAMED].astype(np.uint32)
    unreadable = [(number, reason) for number, reason in found.unreadable if number < corpus.own][: batch_sizes.NAMED]
    ids = corpus.take_ids(np.array([number for number, _ in unreadable], np.uint32)).to_pylist()
    reasons = [reason for _, reason in unreadable]
    return {"empty": corpus.take_ids(empty).to_pylist(), "unreadable": [*zip(ids, reasons, strict=True)]}


def dedup_counts(run: Local, results: Results, clusters: Clusters, found: Found) -> dict[str, Any]:
    """What a summary counts of a run that removes; no row may be lost."""
    counts = counts_of(results.corpus, results.copies, found, run)
    kept, removed = int(np.count_nonzero(clusters.kept)), int(np.count_nonzero(clusters.removed))
    if kept + removed + counts["unreadable"] != counts["documents"]:
        raise TwinsetError(
            f"rows were lost: {kept} kept + {removed} removed + {counts['unreadable']} unreadable are not "
            f"{counted(counts['documents'], 'document')}; please report this, and do not use the result"
        )
    counts["clusters"] = results.clusters(clusters)
    first = {"documents": counts["documents"], "kept": kept, "removed": removed}
    return {**first, **counts}


def described(sources: Sequence[object]) -> list[str | None]:
    """Source arguments as they were given; None for what only the program that ran had: objects, and stdin."""
    paths = [os.fsdecode(one) if isinstance(one, (str, bytes, os.PathLike)) else None for one in sources]
    return [None if path == "-" else path for path in paths]
