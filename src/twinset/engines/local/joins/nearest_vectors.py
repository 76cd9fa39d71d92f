"""Of each vector its nearest ones: by hash tables, or by comparing all with all.

How near the nearest are is not known beforehand. So a sample is compared with everything, and tables are planned for
what nine tenths of its neighbours reach; what the tables then find of the sample's neighbours is the recall that is
reported. Where comparing all with all costs less, that is done. A limit, where one was given, cuts the nearest off.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.candidates import probing
from twinset.engines.local.audit import sample
from twinset.engines.local.audit.run import AuditResult
from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import Copies
from twinset.engines.local.joins.base import Candidates
from twinset.engines.local.joins.in_memory import distance_codes
from twinset.engines.local.joins.vectors import VectorJoin, slices
from twinset.engines.local.sort_pairs import Rows
from twinset.errors import OptionError
from twinset.options import PairsOptions
from twinset.pairs.vectors import every_nearest, nearest
from twinset.plan.vectors import VectorPlan, vector_plan
from twinset.schema import Codes, Hashes, Numbers, Places, Vectors
from twinset.sketches.vectors import keys as vector_keys
from twinset.system.arrays import pair_words, ranges
from twinset.system.scratch import Spool

_SAMPLE = 256
_ROWS = 1024  # asked for at a time
_ROWS_AT_ONCE = 1 << 18  # neighbours of contents that are turned into pairs of documents at a time

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NearestPlan:
    """How the nearest are looked for: exactly, or by tables planned for neighbours as near as most of a sample's.

    `limit` is the least cosine, or the greatest distance, of a neighbour; None for any.
    """

    top: int
    tables: VectorPlan
    limit: float | None = None

    def __str__(self) -> str:
        if self.tables.method == "exact":
            near = {"cosine": "of a cosine of at least {:g}", "distance": "within {:g}"}[self.tables.measure]
            end = "" if self.limit is None else f" {near.format(self.limit)}"
            return f"exact: of each vector its {self.top} nearest{end}, all compared with all"
        return str(self.tables).replace(": a pair at", ": a neighbour at")

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as plain values, ready for JSON."""
        return {**self.tables.to_dict(), "top": self.top, "limit": self.limit}


@dataclass
class Neighbours:
    """The nearest of each vector that asks: places uint32 (n, most), of which the first counts[i] are there."""

    places: Numbers
    scores: Floats
    counts: Places


class NearestVectorJoin(VectorJoin):
    """Vectors of which each finds its nearest, in place of all pairs within a limit."""

    plan: NearestPlan  # type: ignore[assignment]

    @property
    def exact(self) -> bool:
        """Whether all are compared with all."""
        return self.neighbours.plan.method == "exact"

    @property
    def vector_plan(self) -> VectorPlan:
        """How vectors are hashed."""
        return self.neighbours.plan

    def _planned(self) -> NearestPlan:  # type: ignore[override]
        options = self.options
        if not isinstance(options, PairsOptions) or options.top is None:
            raise ValueError("the nearest are looked for by pairs with top")
        self.neighbours = NearestVectors(self, options.top, options.top_limit, options.identical == "link")
        return NearestPlan(options.top, self.neighbours.plan, options.top_limit)

    def verify(self, candidates: Candidates) -> Spool:
        """Find the nearest of each vector."""
        scratch = self.work.state.scratch
        pairs = Spool(scratch / "nearest", "<u4", 3)
        self.neighbours.write(pairs, Spool(scratch / "missed", "<u4", 3))
        return pairs

    def audit(self, pairs: Spool, candidates: Candidates) -> AuditResult | None:
        """What of the sample's neighbours was found."""
        return self.neighbours.audited


class NearestVectors:
    """The nearest of each vector, by place; with two sides, those of the other side.

    With a `limit`, only those with at least this cosine, or at most this distance. With `link`, copies are tied to
    their first appearance alone, which stands for them.
    """

    def __init__(self, held: VectorJoin, top: int, limit: float | None = None, link: bool = False) -> None:
        self.held, self.top, self.limit, self.link = held, top, limit, link
        _refuse_too_many(len(held.numbers), top, held.work.budget)
        count, border = len(held.vectors), held.border
        self.asking = np.arange(count if border is None else border)
        self.asked = np.arange(0 if border is None else border, count)
        self.sample = self._sampled()
        self.truth = self._compared(self.sample)
        self.plan = self._planned()
        self.audited: AuditResult | None = None

    def write(self, out: Spool, missed: Spool) -> None:
        """Append (left, right, code) by document numbers to `out`, and what an audit found missing to `missed`."""
        found = self.found()
        for rows in self.rows(found):
            out.append(rows)
            if out.nbytes > self.held.work.budget.pairs:
                out.forget()
        out.close()
        self.audited = self._audited(found, missed)

    def _sampled(self) -> Places:
        held = self.held
        own = held.numbers[self.asking]
        few = sample.drawn(held.corpus, own, min(_SAMPLE, len(own)), held.options.seed) if len(own) else own
        return np.searchsorted(held.numbers, few)

    def _planned(self) -> VectorPlan:
        """A plan by which the sample's neighbours are found with the recall asked for, as far as its curve tells."""
        held = self.held
        words = {"dimensions": held.vectors.shape[1], "measure": held.measure, "vectors": len(self.asked), "sides": 1}
        there = np.arange(self.truth.scores.shape[1]) < self.truth.counts[:, None]
        scores = np.sort(self.truth.scores[there])
        exact = isinstance(held.options, PairsOptions) and held.options.exact
        lost = 1 - held.options.recall
        by_cosine = held.measure == "cosine"
        far = scores if by_cosine else scores[::-1]  # the farthest first
        level = float(far[int(lost / 2 * len(far))]) if len(far) else self.limit or 0.0
        if exact or len(held.vectors) <= 2 * _SAMPLE or not 0 < level < (1 if by_cosine else np.inf):
            fallback = 0.5 if by_cosine else max(level, 1.0)
            return vector_plan(fallback, held.options.recall, method="exact", **words)
        return vector_plan(level, 1 - lost / 2, others=held.others(), **words)

    def found(self) -> Neighbours:
        """All neighbours."""
        if self.plan.method == "exact":
            return self._compared(self.asking)
        return self._limited(self._by_tables())

    def _limited(self, found: Neighbours) -> Neighbours:
        """Neighbours within the limit: as the nearest come first, the first ones of each."""
        if self.limit is not None:
            near = found.scores >= self.limit if self.held.measure == "cosine" else found.scores <= self.limit
            there = np.arange(found.scores.shape[1]) < found.counts[:, None]
            found.counts = np.count_nonzero(near & there, axis=1)
        return found

    def _compared(self, places: Places) -> Neighbours:
        """The nearest among all."""
        return self._limited(self._among_equals(places))

    def _among_equals(self, places: Places) -> Neighbours:
        """The nearest among those of the same group, which are all where there are no groups."""
        groups = self.held.groups
        if groups is None:
            return self._among(places, self.asked)
        most = min(self.top, len(self.asked))
        found = Neighbours(
            np.zeros((len(places), most), np.uint32), np.zeros((len(places), most)), np.zeros(len(places), np.int64)
        )
        theirs = self.asked[np.argsort(groups[self.asked], kind="stable")]
        ours = np.argsort(groups[places], kind="stable")
        names = np.unique(groups[places])
        edges = [
            np.searchsorted(sorted_groups, names, side=side).tolist()
            for sorted_groups in (groups[places][ours], groups[theirs])
            for side in ("left", "right")
        ]
        for first, last, start, end in zip(*edges, strict=True):
            mine = ours[first:last]
            few = self._among(places[mine], theirs[start:end])
            width = few.places.shape[1]
            found.places[mine, :width], found.scores[mine, :width] = few.places, few.scores
            found.counts[mine] = few.counts
        return found

    def _among(self, places: Places, others: Places) -> Neighbours:
        """The nearest among some others, a vector itself left out."""
        held = self.held
        there = held.vectors if len(others) == len(held.vectors) else held.vectors[others]
        most = min(self.top + 1, len(others))

        def work(rows: slice) -> tuple[Numbers, Floats, Places]:
            return every_nearest(held.vectors[places[rows]], there, most, held.measure)

        parts = list(held.work.threads.map(work, slices(len(places), _ROWS)))
        numbers, scores, counts = (np.concatenate([part[at] for part in parts]) for at in range(3))
        return _without_itself(others[numbers].astype(np.uint32), scores, counts, places, self.top)

    def _by_tables(self) -> Neighbours:
        held, plan, seed = self.held, self.plan, self.held.options.seed
        hashed = held.directions()
        drawn = vector_keys.draw(plan, seed)
        parts = held.work.threads.map(lambda rows: vector_keys.sign(hashed[rows], plan, seed), slices(len(hashed)))
        signatures: Codes = np.concatenate(list(parts))
        most = self.top + 1
        best = Neighbours(
            np.zeros((len(self.asking), most), np.uint32), np.zeros((len(self.asking), most)),
            np.zeros(len(self.asking), np.int64),
        )  # fmt: skip
        held.work.progress.stage("comparing", plan.tables, "tables")
        for tables in held.some_tables(plan):
            blocks = self._blocks(hashed, drawn, tables, signatures)

            def work(rows: slice, tables=tables, blocks=blocks) -> None:  # type: ignore[no-untyped-def]
                self._improve(best, rows, hashed, drawn, tables, signatures, blocks)

            for _ in held.work.threads.map(work, slices(len(self.asking), _ROWS)):
                pass
            held.work.progress.advance(len(tables))
        return _without_itself(best.places, best.scores, best.counts, self.asking, self.top)

    def _blocks(
        self, hashed: Vectors, drawn: vector_keys.Drawn, tables: range, signatures: Codes
    ) -> list[probing.Probed]:
        """Those that are asked, in some tables, each under its own key."""
        keys = self.held.tried(hashed, drawn, tables, 0, self.asked)
        numbers, signed = self.asked.astype(np.uint32), signatures[self.asked]
        return list(self.held.work.threads.map(lambda one: probing.probed(numbers, one, signed), keys))

    def _improve(
        self, best: Neighbours, rows: slice, hashed: Vectors, drawn: vector_keys.Drawn, tables: range,
        signatures: Codes, blocks: list[probing.Probed],
    ) -> None:  # fmt: skip
        """Hold what some vectors find in some tables against the best they have."""
        held, plan = self.held, self.plan
        places = self.asking[rows]
        moves = vector_keys.moves(hashed[places], drawn, tables, plan.probes)
        known = np.arange(best.places.shape[1]) < best.counts[rows, None]
        owners, columns = np.nonzero(known)
        words: list[Hashes] = [pair_words(owners, best.places[rows][owners, columns])]
        for block, here in zip(blocks, moves, strict=True):
            tried = probing.next_keys(here, plan.probes)
            if held.groups is not None:
                tried ^= held.groups[places, None]
            met = probing.asked(tried, signatures[places], block, plan.most_differing)
            words += [pair_words(some[:, 0], some[:, 1]) for some in met]
        every = np.unique(np.concatenate(words))
        asking = (every >> np.uint64(32)).astype(np.int64)
        offsets = np.searchsorted(asking, np.arange(len(places) + 1)).astype(np.int64)
        candidates = every.astype(np.uint32)
        found = nearest(held.vectors[places], held.vectors, offsets, candidates, best.places.shape[1], held.measure)
        best.places[rows], best.scores[rows], best.counts[rows] = found

    def _audited(self, found: Neighbours, scratch: Spool) -> AuditResult | None:
        """What of the sample's neighbours was found; None where everything was compared with everything."""
        if self.plan.method == "exact":
            return None
        held = self.held
        at = np.searchsorted(self.asking, self.sample)
        pairs_of, missed_of = self.truth.counts.copy(), np.zeros(len(self.sample), np.int64)
        for row, place in enumerate(self.sample.tolist()):
            true = self.truth.places[row, : self.truth.counts[row]]
            mine = found.places[at[row], : found.counts[at[row]]]
            lost = true[~np.isin(true, mine)]
            missed_of[row] = len(lost)
            if len(lost):
                codes = held.codes_of(np.full(len(lost), place), lost.astype(np.int64))
                ours = np.full(len(lost), held.numbers[place], np.uint32)
                scratch.append(np.stack([ours, held.numbers[lost], codes], axis=1))
        scratch.close()
        return AuditResult(
            population=len(self.asking), sample=held.numbers[self.sample], pairs_of=pairs_of, missed_of=missed_of,
            pairs=int(pairs_of.sum()), missed=int(missed_of.sum()), one_sided=True, sizes=held.sizes, rows=scratch,
            limit=held.work.budget.pairs,
        )  # fmt: skip

    def rows(self, found: Neighbours) -> Iterator[Rows]:
        """Pairs of documents: each with the nearest of all, copies among them."""
        held, copies = self.held, self.held.copies
        for rows in slices(len(self.asking), max(1, _ROWS_AT_ONCE // (self.top + 1))):
            places = self.asking[rows]
            there = np.arange(found.places.shape[1]) < found.counts[rows, None]
            owners, columns = np.nonzero(there)
            rights = found.places[rows][owners, columns].astype(np.int64)
            scores = found.scores[rows][owners, columns]
            distances = 1.0 - scores if held.measure == "cosine" else scores
            if held.border is None:  # its own copies are near as well
                own = np.arange(len(places))
                owners, rights = np.concatenate([own, owners]), np.concatenate([places, rights])
                distances = np.concatenate([np.zeros(len(own)), distances])
            yield from self._documents(copies, held.numbers[places], owners, held.numbers[rights], distances)

    def _documents(
        self, copies: Copies, lefts: Numbers, owners: Places, rights: Numbers, distances: Floats
    ) -> Iterator[Rows]:
        """Contents that are near to contents, as documents: of each the first ones, no more than are asked for."""
        alone = self.link and self.held.border is None  # copies have their first appearance, and nothing else
        many = np.minimum(copies.counts[rights].astype(np.int64), self.top + 1)
        if self.link:
            many = np.where(lefts[owners] == rights, many, 1)
        owners, distances = np.repeat(owners, many), np.repeat(distances, many)
        members = copies.members[ranges(copies.starts[rights], many)]
        order = np.lexsort((members, distances, owners))
        owners, members, distances = owners[order], members[order], distances[order]
        firsts = np.searchsorted(owners, np.arange(len(lefts) + 1))
        rank = np.arange(len(owners)) - firsts[owners]
        kept = rank <= self.top  # one more, for it may be the document itself
        owners, members = owners[kept], members[kept]
        codes = distance_codes(np.maximum(distances[kept], 0.0))
        firsts = np.searchsorted(owners, np.arange(len(lefts) + 1))
        # Every copy of a content has the same neighbours, but for itself.
        copies_of = copies.counts[lefts].astype(np.int64)
        documents = copies.members[ranges(copies.starts[lefts], copies_of)]
        group = np.repeat(np.arange(len(lefts)), copies_of)
        if alone:
            later = documents != lefts[group]
            ties = [documents[later], lefts[group[later]], np.zeros(np.count_nonzero(later), np.uint32)]
            yield np.stack(ties, axis=1)
            documents, group = documents[~later], group[~later]
        for some in slices(len(documents), max(1, _ROWS_AT_ONCE // (self.top + 1))):
            sizes = np.diff(firsts)[group[some]]
            places = ranges(firsts[:-1][group[some]], sizes)
            rows = np.stack([np.repeat(documents[some], sizes), members[places], codes[places]], axis=1)
            rows = rows[rows[:, 0] != rows[:, 1]]
            starts = np.flatnonzero(np.diff(rows[:, 0].astype(np.int64), prepend=-1))
            rank = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
            yield rows[rank < self.top]


def _refuse_too_many(vectors: int, top: int, budget: Budget) -> None:
    needed, room = 32 * vectors * (top + 1), budget.free // 2
    if needed > room:
        raise OptionError(
            f"the {top:,} nearest of {vectors:,} vectors take {needed >> 20:,} MiB of memory, and {room >> 20:,} MiB "
            "are left for them; ask for fewer with --top, or give more with --memory"
        )


def _without_itself(numbers: Numbers, scores: Floats, counts: Places, places: Places, top: int) -> Neighbours:
    """Neighbours without the vector that asks, `top` at most."""
    there = np.arange(numbers.shape[1]) < counts[:, None]
    other = there & (numbers != places[:, None])
    order = np.argsort(~other, axis=1, kind="stable")[:, :top]
    rows = np.arange(len(numbers))[:, None]
    return Neighbours(numbers[rows, order], scores[rows, order], np.minimum(other.sum(axis=1), top))
