"""One machine: threads, a memory budget, scratch files, and state to go on from after a kill."""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from twinset.documents.own_files import STATE_ENDING, exclude_outputs, patterns_of_files
from twinset.documents.parts import Part
from twinset.documents.sources import Sources, open_sources
from twinset.engines.local.budget import Budget, batch_within, give_back, peak_bytes
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.state import State, fingerprint
from twinset.engines.local.steps import candidates as joining
from twinset.engines.local.steps.cluster_beside_index import refuse_to_bury
from twinset.engines.local.steps.open import refuse_to_replace, sketch_pictures, tell_unexpected, temporary_folder
from twinset.engines.local.steps.read import Found, Reading
from twinset.engines.local.steps.verify import Verifying
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.errors import OptionError
from twinset.options import DedupOptions, PairsOptions
from twinset.plan import Plan
from twinset.schema import HASH_SCHEME
from twinset.system.scratch import Spool, cannot_write

if TYPE_CHECKING:
    from twinset.engines.local.audit.run import Audited, Auditing
    from twinset.engines.local.in_memory.base import Measured, MeasuredPlan

MOST_IDENTICAL = 100_000_000


class Local:
    """A run on this machine. Used with `with`; its steps are called by the pipeline, in order."""

    def __init__(
        self, sources: tuple[object, ...], options: PairsOptions | DedupOptions, plan: Plan, output: Path | None,
        version: str, progress: Progress, own_files: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.options, self.output, self.progress, self.version = options, output, progress, version
        self.sketching, self.plan = plan, cast("Plan | MeasuredPlan", plan)
        self.started = time.perf_counter()
        self.timings: dict[str, float] = {}
        self._begun: Auditing | None = None
        self.batch_bytes = batch_within(options.batch_bytes, options.memory_bytes, options.thread_count)
        self._inputs = temporary_folder(options.scratch)
        try:
            self._open(sources, own_files)
        except BaseException:
            self._inputs.cleanup()
            raise
        self.threads = Threads(options.thread_count)
        self.budget = Budget.of(options.memory_bytes, options.thread_count, self.batch_bytes)

    def _open(self, sources: tuple[object, ...], own_files: Sequence[str]) -> None:
        """Open everything; `own_files` are those of an index, which are no sources and must not be replaced."""
        options, scratch = self.options, Path(self._inputs.name)
        outputs = [self.output] if self.output else []
        every = (*sources, *options.against)
        reading, self.left_out = exclude_outputs(options, outputs, every, patterns_of_files(own_files, every))
        self.given = sources
        self.found = open_sources(sources, reading, scratch=scratch)
        against = (
            open_sources(options.against, reading, scratch=scratch, against=True) if options.against else Sources()
        )
        self.parts: list[Part] = [*self.found.parts, *against.parts]
        sketch_pictures(self.parts, options)
        if options.codes is not None:
            from twinset.engines.local.sketch_files.code_files import refuse_unlike  # loads kernels: only where needed

            refuse_unlike(self.parts, options)
        self.against = len(self.found.parts)
        self.skipped = [*self.found.skipped, *against.skipped]
        refuse_to_replace(self.output, self.parts)
        refuse_to_bury(self.output, own_files)
        tell_unexpected(self.skipped, self.parts, self.progress)
        rules = options.keep_rules if isinstance(options, DedupOptions) else ()
        columns = frozenset(column for _, column in rules if column is not None)
        for part in self.found.parts:
            part.wanted = columns
            if isinstance(options, DedupOptions) and options.flag:
                part.check_flag()
        self.by_length = isinstance(options, DedupOptions)  # documents.parquet has them
        folder = Path(f"{self.output}{STATE_ENDING}") if self.output else scratch / "state"
        spill = Path(options.scratch) if options.scratch else None
        self.state = State(folder, self._fingerprint(), spill)

    def _fingerprint(self) -> str:
        return fingerprint(
            {
                "version": self.version,
                "scheme": HASH_SCHEME,
                "kind": type(self.options).__name__,
                "options": {**self.options.to_dict(), "seed": self.options.seed},
                "batch": self.batch_bytes,
                "plan": self.plan.to_dict(),
                "parts": [_stamp(one) for part in self.parts for one in part.inner],
            }
        )

    def __enter__(self) -> "Local":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.threads.close()
        # What a full disk, a lack of memory or a busy index stopped can go on later; anything else starts anew.
        goes_on = isinstance(value, (OSError, MemoryError)) or type(value).__name__ in ("OutputError", "BusyError")
        stays = goes_on and self.output is not None
        if value is not None and stays and self.state.stages:
            value.add_note(f"{self.state.folder} stays, and the same command again goes on from there")
        self.state.close(keep=stays)
        self._inputs.cleanup()

    def timed(self, step: str, since: float) -> None:
        """Note how long a step took; where memory is limited, give back what it no longer needs."""
        if self.options.memory is not None:
            give_back()
        self.timings[step] = round(time.perf_counter() - since, 3)

    def read(self, *, whole: bool) -> tuple[Corpus, Found]:
        """Documents → shingles → sketches."""
        since = time.perf_counter()
        reading = Reading(
            self.parts, self.against, self.options, self.sketching, self.budget, self.state, self.threads,
            self.progress, batch_bytes=self.batch_bytes, whole=whole, by_length=self.by_length,
        )  # fmt: skip
        corpus, found = reading.corpus()
        self.budget = self.budget.beside(corpus.documents)
        self.timed("read", since)
        return corpus, found

    def collapse(self, corpus: Corpus) -> Copies:
        """Identical contents to one each; refuses a flood of identical pairs that was not asked for as links."""
        copies = Copies.of(joining.first_appearances(corpus), corpus.status)
        if corpus.border is None:
            self.refuse_flood(copies.identical_pairs)
        return copies

    def refuse_flood(self, identical: int) -> None:
        """Stop where identical documents alone make more pairs than anyone wants, unless links were asked for."""
        listed = isinstance(self.options, PairsOptions) and self.options.identical == "all"
        if self.options.item_kind == "vectors" and isinstance(self.options, PairsOptions) and self.options.top:
            return  # of all of them only the nearest of each are made
        if listed and identical > MOST_IDENTICAL:
            raise OptionError(
                f"identical documents alone make {identical:,} pairs, more than {MOST_IDENTICAL:,}; "
                "--identical link ties each copy to its first appearance only"
            )

    def candidates(self, corpus: Corpus, copies: Copies) -> Spool:
        """Sketches → candidates; in an exact run, sets → candidates."""
        since = time.perf_counter()
        work = (self.budget, self.state, self.threads, self.progress)
        if self.sketching.exact:
            from twinset.engines.local.steps import candidates_exact  # loads kernels: only where needed

            found = candidates_exact.candidates(corpus, copies.first, self.options, *work)
        else:
            found = joining.candidates(corpus, copies.first, self.sketching, *work)
        self.timed("candidates", since)
        return found

    def verify(self, corpus: Corpus, candidates: Spool, copies: Copies | None = None) -> tuple[Spool, Verifying]:
        """Candidates → pairs, with the exact set sizes of their documents; with copies, an audit is to follow."""
        since = time.perf_counter()
        verifying = Verifying(corpus, self.options, self.budget, self.state.scratch, self.threads, self.progress)
        earlier = self.state.recall("pairs")
        if earlier is not None:
            pairs = earlier[1]["pairs"]
            verifying.sizes = earlier[1]["sizes"].all()
        else:
            pairs = self.state.spool("pairs", "<u4", 3)
            if copies is not None and self._audits(self.sketching.exact):
                self._auditing(corpus, copies).look_ahead(self.options.audit)
            verifying.verify(candidates, self.options.least, pairs)
            sizes = self.state.spool("sizes", "<u4")
            sizes.append(verifying.sizes)
            self.state.finish("pairs", {}, {"pairs": pairs, "sizes": sizes})
        self.timed("verify", since)
        return pairs, verifying

    def compare(self, corpus: Corpus, copies: Copies) -> "tuple[Spool, Measured]":
        """Items that have a measure of their own → pairs; they are joined in memory, in the way of their kind."""
        since = time.perf_counter()
        from twinset.engines.local.in_memory import kinds  # for the same reason

        work = kinds.Work(self.options, self.budget, self.state, self.threads, self.progress)
        held = kinds.held(corpus, copies, work)
        self.plan = held.told_plan
        self.progress.note(f"plan: {self.plan}")
        earlier = self.state.recall("pairs")
        if held.nearest is not None:
            pairs = Spool(self.state.scratch / "nearest", "<u4", 3)
            held.nearest.write(pairs, Spool(self.state.scratch / "missed", "<u4", 3))
        elif earlier is not None:
            pairs, held.candidates = earlier[1]["pairs"], earlier[0]["candidates"]
        else:
            pairs = self.state.spool("pairs", "<u4", 3)
            held.join(pairs)
            self.state.finish("pairs", {"candidates": held.candidates}, {"pairs": pairs})
        self.timed("compare", since)
        return pairs, held

    def audit(
        self, corpus: Corpus, copies: Copies, pairs: Spool, verifying: "Verifying | Measured", candidates: int
    ) -> "Audited | None":
        """Some documents compared exactly with all others, and what of it is in the pairs; None where that is off."""
        asked = self.options.audit
        if not self._audits(self.sketching.exact if isinstance(verifying, Verifying) else verifying.exact):
            return None
        since = time.perf_counter()
        audited: Audited | None
        if isinstance(verifying, Verifying):
            audited = self._auditing(corpus, copies).audit(asked, pairs, verifying.sizes, candidates)
        else:
            from twinset.engines.local.audit.in_memory import audit

            audited = audit(verifying, asked, pairs) if verifying.nearest is None else verifying.nearest.audited
        self.timed("audit", since)
        return audited

    def _audits(self, exact: bool) -> bool:
        """Whether there is to be an audit: of an exact run only if it was asked for."""
        return self.options.audit != 0 and not (self.options.audit is None and exact)

    def _auditing(self, corpus: Corpus, copies: Copies) -> "Auditing":
        """The one audit of the run."""
        from twinset.engines.local.audit.run import Auditing  # for the same reason

        if self._begun is None:
            self._begun = Auditing(
                corpus, copies, self.options, self.budget, self.state.scratch, self.threads, self.progress
            )
        return self._begun

    def facts(self) -> dict[str, Any]:
        """What a summary says of how the run went."""
        self.timings["total"] = round(time.perf_counter() - self.started, 3)
        return {
            "options": self.options.to_dict(),
            "plan": self.plan.to_dict(),
            "timings": {
                "seconds": self.timings,
                "threads": self.threads.count,
                "memory": self.budget.total,
                "peak_resident": peak_bytes(),
                "resumed": self.state.resumed,
                "folder": os.getcwd(),
                "left_out": list(self.left_out),
            },
            "version": self.version,
            "hash_scheme": HASH_SCHEME,
        }

    def room_for_output(self, name: str) -> Path:
        """An empty place in the state folder, for output in the making."""
        place = self.state.folder / name
        if place.is_dir():
            shutil.rmtree(place)
        try:
            if not place.suffix:
                place.mkdir()
        except OSError as error:
            raise cannot_write(place, error) from error
        return place


def _stamp(part: Part) -> list[Any]:
    """What tells that a part is still the same."""
    files = getattr(part, "files", None)
    listed = [[file.id, file.size, file.mtime_ns] for file in files] if files else []
    return [
        part.name,
        part.format,
        os.path.abspath(part.path) if part.path else None,
        part.size,
        part.mtime_ns,
        listed,
        None if listed or part.path else os.urandom(16).hex(),  # what is only in memory may be anything
    ]
