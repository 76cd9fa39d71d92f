"""Sketch documents into files that can be merged and compared without the documents; and make SimHash codes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import twinset
from twinset.documents.own_files import exclude_outputs
from twinset.documents.parts import Chunk, Part
from twinset.documents.sources import open_sources
from twinset.engines.local.budget import Budget, batch_within, peak_bytes
from twinset.engines.local.sketch_files.code_files import CodeScheme
from twinset.engines.local.sketch_files.files import Scheme, SketchSource, open_sketches
from twinset.engines.local.sketch_files.make import (
    Portion,
    SketchMaker,
    SketchReport,
    read_sketches,
    scheme_of,
    sketched,
)
from twinset.engines.local.sketch_files.make_codes import count_rarities, make_codes, reading_options
from twinset.engines.local.steps.open import refuse_to_replace, tell_unexpected, total_rows
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress, ProgressChoice, reporting
from twinset.errors import OptionError, OutputError
from twinset.jobs.codes import Estimate, RowsById, SimHashes
from twinset.jobs.estimate import are_sketches
from twinset.options.checks import new_file
from twinset.options.sketch import SketchOptions
from twinset.schema import HASH_SCHEME
from twinset.sketches import minhash
from twinset.sketches.bottom_k import BottomK, estimates
from twinset.system import batch_sizes
from twinset.system.atomic_files import replace_atomically
from twinset.system.memory import temporary_folder

_SCHEME_OPTIONS = ("sketch", "n_hashes", "seed", "shingle", "bag", "lowercase", "nfc", "squeeze", "spaces", "split")
_OTHER_OPTIONS = ("merge", "force", "threads", "memory", "scratch", "batch_bytes")


class Sketches(RowsById):
    """Sketches by id: `.table` (Arrow: id, sketch, shingles), `.summary`, `.path`; made by `twinset.sketch`.

    Examples
    --------
    >>> import twinset
    >>> made = twinset.sketch({"a": "one two three", "b": "two three four"}, shingle="word:1", sketch="bottom-k")
    >>> made
    <Sketches: 2 of bottom-128>
    >>> made.estimate("a", "b")
    Estimate(similarity=0.5, standard_error=0.0, exact=True)
    """

    scheme: Scheme

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Sketches:
        """Open a file written by `twinset.sketch` or ``twinset sketch``.

        Examples
        --------
        >>> import twinset
        >>> made = twinset.sketch(["one text", "another"], output="few.parquet")
        >>> len(twinset.Sketches.open("few.parquet"))
        2
        """
        source = SketchSource(path)
        return cls(source.scheme, {"sketches": source.rows}, Path(path), None)

    def _read(self) -> pa.Table:
        """Read all rows, and check the seal."""
        source = SketchSource(self.path)
        tables = [batch.table(source.scheme) for batch in source.batches()]
        return pa.concat_tables(tables) if tables else source.scheme.schema.empty_table()

    def estimate(self, left: str, right: str) -> Estimate:
        """Estimate the Jaccard similarity of the sets behind two sketches.

        Parameters
        ----------
        left, right
            Their ids.

        Returns
        -------
        Estimate
            The similarity, its standard error, and whether it is exact: bottom-k sketches contain small sets whole.

        Examples
        --------
        >>> import twinset
        >>> made = twinset.sketch({"a": "one two three four", "b": "one two three"}, shingle="word:1")
        >>> found = made.estimate("a", "b")
        >>> abs(found.similarity - 0.75) < 3 * found.standard_error
        True
        """
        both = self._rows(left, right)
        if isinstance(both, BottomK):
            pair = np.array([0], np.uint32), np.array([1], np.uint32)
            similarity, errors = (float(found[0]) for found in estimates(both, *pair))
            return Estimate(similarity, errors, errors == 0.0)
        similarity = minhash.estimate(both[0], both[1])
        shared = np.array([round(similarity * self.scheme.n_hashes)], np.uint32)
        return Estimate(similarity, float(minhash.standard_errors(shared, self.scheme.n_hashes)[0]), False)

    def _rows(self, *ids: str) -> Any:
        return SketchSource(self.scheme.schema.empty_table()).batch(self._take_rows(*ids).to_batches()[0]).sketches

    def merge(self, *others: Any, output: Any = None, **options: Any) -> Sketches:
        """Merge with other sketches of the same options; sketches with the same id become the sketch of their union.

        Parameters
        ----------
        *others
            Other `Sketches`, or paths of their files.
        output
            A file for the result; without it the result is kept in memory.
        **options
            ``force``, ``threads``, ``memory``, ``scratch``.

        Returns
        -------
        Sketches

        Examples
        --------
        >>> import twinset
        >>> monday = twinset.sketch({"ann": "one two"}, shingle="word:1", sketch="bottom-k")
        >>> tuesday = twinset.sketch({"ann": "two three", "ben": "three"}, shingle="word:1", sketch="bottom-k")
        >>> both = monday.merge(tuesday)
        >>> both.ids, both.estimate("ann", "ben").similarity
        (['ann', 'ben'], 0.3333333333333333)
        """
        merged: Sketches = sketch(self, *others, output=output, merge=True, **options)
        return merged

    def __repr__(self) -> str:
        kind = "bottom-" if self.scheme.bottom else f"{self.scheme.sketch}, "
        return f"<Sketches: {len(self):,} of {kind}{self.scheme.n_hashes}>"


@overload
def sketch(
    *sources: object, sketch: Literal["simhash"], output: Any = None, progress: ProgressChoice = None,
    **options: Any,
) -> SimHashes: ...  # fmt: skip


@overload
def sketch(
    *sources: object, output: Any = None, progress: ProgressChoice = None, **options: Any
) -> Sketches: ...


def sketch(
    *sources: object, output: Any = None, progress: ProgressChoice = None, **options: Any
) -> Sketches | SimHashes:
    """Sketch documents, to compare or merge the sketches later; or make SimHash codes.

    Parameters
    ----------
    *sources
        Paths, patterns, lists of texts, mappings id → text, or tables with Arrow's stream interface. Or existing
        sketches, which are combined.
    output
        A file that ends in .parquet; without it the sketches are kept in memory.
    progress
        Bars for True, silence for False, or an object that receives the progress of the run. By default bars appear on
        a terminal and in a notebook.
    **options
        The options of `twinset sketch`, as keyword arguments.

    Returns
    -------
    Sketches
        With `.table`, `.estimate(left, right)` and `.merge(other)`; `twinset.find_pairs` takes them as a source. With
        ``sketch="simhash"`` it is `SimHashes`, which `find_pairs` and `dedup` take with ``codes="code"``.

    Examples
    --------
    >>> import twinset
    >>> rose = "a rose is a rose is a rose in any garden of the town"
    >>> made = twinset.sketch({"a": rose, "b": rose + " hall", "c": "something else"}, shingle="word:3")
    >>> twinset.find_pairs(made).pairs.select(["left", "right", "estimate"]).to_pylist()
    [{'left': 'a', 'right': 'b', 'estimate': True}]
    """
    started = time.perf_counter()
    checked = SketchOptions.of(**options)
    target = Path(output) if output is not None else None
    _check_output(target, checked, sources)
    with ExitStack() as stack:
        reporter = stack.enter_context(reporting(progress))
        scratch = Path(stack.enter_context(temporary_folder(checked.scratch)))
        scheme: Scheme | CodeScheme
        draft = scratch / "out.parquet" if target is None else stack.enter_context(replace_atomically(target))
        if are_sketches(sources):
            scheme, report = _combine_sketches(sources, checked, options, draft, scratch, reporter)
        else:
            scheme, report = _sketch_documents(sources, checked, target, draft, scratch, reporter)
        summary = {
            "documents": report.documents,
            "sketches": report.sketches,
            "empty": report.empty,
            "unreadable": len(report.unreadable),
            "replaced": report.replaced,
            "named": {"unreadable": report.unreadable[: batch_sizes.NAMED], "empty": report.named_empty},
            "options": checked.to_dict(),
            "timings": {"seconds": {"total": round(time.perf_counter() - started, 3)}, "peak_resident": peak_bytes()},
            "version": twinset.__version__,
            "hash_scheme": HASH_SCHEME,
        }
        table = pq.read_table(draft, memory_map=False) if target is None else None
    if isinstance(scheme, CodeScheme):
        return SimHashes(scheme, summary, target, table)
    return Sketches(scheme, summary, target, table)


def _check_output(target: Path | None, options: SketchOptions, sources: tuple[object, ...]) -> None:
    if target is None:
        return
    if target.suffix != ".parquet":
        raise OptionError(f"the output is {str(target)!r}; allowed: a name that ends in .parquet")
    new_file(target, options.force)
    for one in sources:
        exists = isinstance(one, (str, os.PathLike)) and os.path.exists(one)
        if exists and target.exists() and os.path.samefile(str(one), target):
            raise OutputError(f"{target} is both a source and the output; choose another output")


def _sketch_documents(
    sources: tuple[object, ...], options: SketchOptions, target: Path | None, draft: Path, scratch: Path,
    reporter: Progress,
) -> tuple[Scheme | CodeScheme, SketchReport]:  # fmt: skip
    reading, _ = exclude_outputs(options, [target] if target else [], sources)
    batch = batch_within(options.batch_bytes, options.memory_bytes, options.thread_count)
    simhash = options.sketch == "simhash"
    how = reading_options(options, reading) if simhash else reading
    found = open_sources(sources, how, scratch=scratch, progress=reporter)
    found.fetch()
    refuse_to_replace(target, found.parts)
    tell_unexpected(found.skipped, found.parts, reporter)
    budget = Budget.of(options.memory_bytes, options.thread_count, batch)
    total = total_rows(found.parts)
    with closing(Threads(options.thread_count)) as threads:

        def work() -> Iterator[tuple[Part, Chunk]]:
            return ((part, chunk) for part in found.parts for chunk in part.chunks(batch))

        weights = None
        if simhash and options.code_weights == "tf-idf":
            reporter.stage("counting", total, "documents")
            weights = count_rarities(work(), options, threads, budget, reporter.advance)
        scheme = CodeScheme.of(options, weights) if simhash else scheme_of(options)
        reporter.stage("sketching", total, "documents")

        def one(task: tuple[Part, Chunk]) -> Portion:
            return make_codes(*task, options, weights) if simhash else sketched(*task, options)

        maker = SketchMaker(scheme, options.merge, scratch, budget)
        report = maker.write(threads.map(one, work()), draft, reporter.advance)
        for part in found.parts:
            part.check_unchanged()
    return scheme, report


def _combine_sketches(
    sources: tuple[object, ...], options: SketchOptions, given: dict[str, Any], draft: Path, scratch: Path,
    reporter: Progress,
) -> tuple[Scheme, SketchReport]:  # fmt: skip
    """Combine files of sketches into one."""
    opened = open_sketches(sources)
    scheme = opened[0].scheme
    own = {**{name: getattr(scheme, name) for name in ("sketch", "n_hashes", "seed")}, **scheme.items}
    for name in given:
        if name not in _OTHER_OPTIONS and not (name in _SCHEME_OPTIONS and own.get(name) == getattr(options, name)):
            flag = dict(options.specs())[name].spellings(name)[0]
            raise OptionError(
                f"{flag} cannot change existing sketches; leave it out, or sketch the documents again"
            )
    budget = Budget.of(options.memory_bytes, options.thread_count, 1 << 20)
    reporter.stage("joining files", sum(one.rows for one in opened), "sketches")
    maker = SketchMaker(scheme, options.merge, scratch, budget)
    return scheme, maker.write(read_sketches(opened), draft, reporter.advance)
