"""The summary of a run: counts, plan, audit, timings, and digests of its tables."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from twinset.documents.parts import Part
from twinset.documents.spooled import is_pipe
from twinset.engines.local.audit.result import AuditResult, audit_summary
from twinset.engines.local.budget import peak_bytes
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import Candidates, RunPlan
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.steps.sketch import EMPTY, READ, UNREADABLE
from twinset.engines.local.write.tables import ResultTables
from twinset.errors import TwinsetError
from twinset.options import DedupOptions
from twinset.schema import HASH_SCHEME, Numbers
from twinset.system import batch_sizes
from twinset.system.addresses import shown_address
from twinset.system.compile_time import take_seconds
from twinset.system.disk import flush
from twinset.system.scratch import cannot_write
from twinset.wording import counted

if TYPE_CHECKING:
    from twinset.engines.local.opened import OpenedJob
    from twinset.engines.local.run import LocalRun

_PIPES = ("/dev/fd/", "/proc/self/fd/")  # process substitution: a pipe with the name of a file


def pairs_summary(
    run: LocalRun, tables: ResultTables, plan: RunPlan, pairs: int, candidates: Candidates, audit: AuditResult | None,
    written: dict[str, Any] | None,
) -> dict[str, Any]:  # fmt: skip
    """Make the summary of a run that finds pairs; `written`: the stored sources of a folder, None for a file."""
    own_ids = tables.corpus.report.own_ids
    return {
        **count_documents(run, tables.corpus, _count_copies(tables)),
        "named": name_excluded(tables.corpus),
        "pairs": pairs,
        "candidates": candidates.count,
        "audit": audit_summary(audit, tables) if audit else None,
        **({} if written is None else {"input": {**describe_input(run), "own_ids": own_ids, **written}}),
        **run_facts(run, plan.to_dict()),
    }


def dedup_summary(
    run: LocalRun, tables: ResultTables, plan: RunPlan, pairs: int, candidates: Candidates, audit: AuditResult | None,
    clusters: Clusters, index: dict[str, Any] | None, written: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Make the summary of a run that removes documents; `written` says which files have sources and kept rows."""
    own_ids = tables.corpus.report.own_ids
    return {
        **_dedup_counts(run, tables, clusters),
        "pairs": pairs,
        "candidates": candidates.count,
        "index": index,
        **verdict_facts(tables.corpus, tables.copies.first, clusters),
        "audit": audit_summary(audit, tables) if audit else None,
        "input": {**describe_input(run), "own_ids": own_ids, **written},
        **run_facts(run, plan.to_dict()),
    }


def verdict_facts(corpus: Corpus, first: Numbers, clusters: Clusters) -> dict[str, Any]:
    """Count the verdicts that were obeyed and those that were not, and what they have changed."""
    links = clusters.links
    if links is None:
        return {}
    own = links.principals[links.principals < corpus.own]
    kept = np.zeros(corpus.documents, np.bool_)
    kept[first[clusters.kept]] = True
    beaten = own[~kept[own]]
    removed = int(np.count_nonzero(clusters.judged(first)))
    facts = {
        **links.report,
        "removed": removed,
        "principals_removed": _ids(corpus, beaten[: batch_sizes.NAMED].tolist()),
    }
    return {"verdicts": facts}


def run_facts(run: OpenedJob, plan: dict[str, Any]) -> dict[str, Any]:
    """Return options, plan, timings and version of a run."""
    compiling, before = take_seconds(run.started)
    if compiling:
        run.timings["compile"] = round(compiling, 3)
    run.timings["total"] = round(time.perf_counter() - run.started + before, 3)
    return {
        "options": run.options.to_dict(),
        **run.found_lengths,
        "plan": plan,
        "timings": {
            "seconds": run.timings,
            "threads": run.threads.count,
            "memory": run.budget.total,
            "peak_resident": peak_bytes(),
            "resumed": run.state.resumed,
            "folder": os.getcwd(),
            "left_out": list(run.left_out),
        },
        "version": run.job.version,
        "hash_scheme": HASH_SCHEME,
    }


def describe_input(run: OpenedJob) -> dict[str, Any]:
    """Return the source arguments of a run, and the split of each of its parts if any is known."""
    splits = [inner.data_split for part in run.parts[: run.against] for inner in part.inner]
    return {
        "sources": describe_sources(run.job.sources),
        "against": describe_sources(run.options.against),
        **({"splits": splits} if any(splits) else {}),
    }


def kept_files(parts: Sequence[Part], folder: Path) -> list[str | None]:
    """Return the file of the kept rows of each part, below the result folder; None for parts of text files."""
    names = [f"kept/{inner.kept_name}" for part in parts for inner in part.inner]
    return [name if (folder / name).is_file() else None for name in names]


def describe_sources(sources: Sequence[object]) -> list[str | None]:
    """Return the source arguments; None for objects in memory, stdin and pipes, which cannot be read again."""
    paths = [shown_address(os.fsdecode(one)) if isinstance(one, (str, bytes, os.PathLike)) else None for one in sources]
    return [None if path is None or path == "-" or is_pipe(path) or path.startswith(_PIPES) else path for path in paths]


def _count_copies(tables: ResultTables) -> dict[str, int]:
    """Count the documents with the content of an earlier one, and those that equal an earlier one byte for byte."""
    same = tables.verbatim
    return {"identical": tables.copies.extra, "verbatim": int(np.count_nonzero(same != np.arange(len(same))))}


def count_documents(run: OpenedJob, corpus: Corpus, copies: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Count documents by outcome; `copies` are counts of copies, if they are known."""
    status, report = corpus.status[: corpus.own], corpus.report
    return {
        "documents": corpus.own,
        "empty": int(np.count_nonzero(status == EMPTY)),
        "unreadable": int(np.count_nonzero(status == UNREADABLE)),
        **(copies or {}),
        "replaced": report.replaced,
        "skipped": [list(one) for one in run.skipped],
        "against": corpus.documents - corpus.own,
        "text_bytes": report.text_bytes,
        **({} if not report.repeated_ids else {"repeated_ids": report.repeated_ids}),
        **({} if report.rows is None else {"rows": report.rows}),
        **({} if not report.replaced else {"replaced_in": _ids(corpus, report.replaced_in)}),
        **({} if not report.unranked else {"unranked": report.unranked}),
    }


def _dedup_counts(run: LocalRun, tables: ResultTables, clusters: Clusters) -> dict[str, Any]:
    """Count documents by outcome; check that no row was lost."""
    counts = count_documents(run, tables.corpus, _count_copies(tables))
    kept, removed = int(np.count_nonzero(clusters.kept)), int(np.count_nonzero(clusters.removed))
    if kept + removed + counts["unreadable"] != counts["documents"]:
        raise TwinsetError(
            f"rows were lost: {kept} kept + {removed} removed + {counts['unreadable']} unreadable are not "
            f"{counted(counts['documents'], 'document')}; please report this, and do not use the result"
        )
    first = {"documents": counts["documents"], "kept": kept, "removed": removed}
    return {**first, **counts, **_count_short(run, tables), "clusters": tables.clusters(clusters)}


def _count_short(run: LocalRun, tables: ResultTables) -> dict[str, Any]:
    """Count the documents that a run by containment kept because they have too few shingles."""
    if tables.set_sizes is None or not isinstance(run.options, DedupOptions):
        return {}
    own = tables.corpus.status[: tables.corpus.own] == READ
    short = tables.set_sizes[: tables.corpus.own] < run.options.least_shingles
    return {"left_alone": int(np.count_nonzero(own & short))}


def name_excluded(corpus: Corpus) -> dict[str, Any]:
    """Return the first ids of empty and of unreadable documents."""
    empty = np.flatnonzero(corpus.status[: corpus.own] == EMPTY)[: batch_sizes.NAMED].tolist()
    own = [(number, reason) for number, reason in corpus.report.unreadable if number < corpus.own]
    unreadable = own[: batch_sizes.NAMED]
    ids = _ids(corpus, [number for number, _ in unreadable])
    reasons = [reason for _, reason in unreadable]
    return {"empty": _ids(corpus, empty), "unreadable": [*zip(ids, reasons, strict=True)]}


def _ids(corpus: Corpus, numbers: list[int]) -> list[str]:
    ids: list[str] = corpus.take_ids(np.array(numbers, np.uint32)).to_pylist()
    return ids


def seal_summary(folder: Path, summary: dict[str, Any]) -> dict[str, Any]:
    """Add the digests of the folder's tables, and one of the summary without its timings."""
    files = {path.name: sha256_of(path) for path in sorted(folder.glob("*.parquet"))}
    whole = {**summary, "files": files}
    return {**whole, "check": summary_check(whole)}


def summary_check(summary: dict[str, Any]) -> str:
    """Return the digest of a summary without its timings, which differ from run to run."""
    checked = {key: value for key, value in summary.items() if key not in ("timings", "check")}
    return hashlib.sha256(json.dumps(checked, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """Return the digest of a file."""
    with open(path, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_summary(path: Path, summary: dict[str, Any]) -> None:
    """Write the summary, flushed to the disk."""
    try:
        with open(path, "wb") as file:
            file.write(_as_json(summary))
            file.flush()
            flush(file.fileno())
    except OSError as error:
        raise cannot_write(path, error) from error


def _as_json(summary: dict[str, Any]) -> bytes:
    try:
        return (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # the path of a source may not be valid UTF-8; escaped, it can be read back
        return (json.dumps(summary, indent=2, ensure_ascii=True) + "\n").encode()
