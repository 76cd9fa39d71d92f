"""Results of every kind of item cut anew, at another threshold or distance: equal to a fresh run with the same plan."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

import twinset
from tests.kinds import KINDS, basket_values, code_values, vector_values
from tests.reliability.command import bytes_of

METHODS = ("leader", "complete", "components")
POLICIES = ("first", "longest", "newest:day", "highest:score,longest", "source")


class Cut(NamedTuple):
    """The options of the run, with a floor, and the limits at which it is cut, the run's own first."""

    kind: str
    words: dict[str, Any]
    limit: str
    limits: tuple[float, ...]


CUTS = {
    "codes": Cut("codes", {"floor": 8}, "distance", (3, 5, 1)),
    "images": Cut("images", {"floor": 12}, "distance", (4, 8, 0)),
    "turned images": Cut("turned images", {"floor": 12}, "distance", (4, 8, 0)),
    "vectors by distance": Cut("vectors", {"floor": 1.2}, "distance", (0.3, 0.7, 0.0)),
    "vectors by cosine": Cut("vectors", {"floor": 0.7, "recall": 0.999}, "threshold", (0.98, 0.9, 1.0)),
    "npy": Cut("npy", {"floor": 0.7}, "threshold", (0.98, 0.9)),
    "weighted sets": Cut("weighted sets", {"floor": 0.3, "recall": 0.999}, "threshold", (0.8, 0.55, 1.0)),
    "weighted groups": Cut("weighted groups", {"floor": 0.3, "recall": 0.999}, "threshold", (0.8, 0.55)),
    "items": Cut("items", {"floor": 0.3, "recall": 0.999}, "threshold", (0.8, 0.55)),
    "groups": Cut("groups", {"floor": 0.3, "recall": 0.999}, "threshold", (0.8, 0.55)),
    "records": Cut("records", {"floor": 0.3, "recall": 0.999}, "threshold", (0.8, 0.55)),
}
MEASURED = tuple(name for name in CUTS if name not in ("items", "groups", "records"))


class Made(NamedTuple):
    """A result to cut, with all that made it."""

    cut: Cut
    source: Path
    out: Path

    def run(self, output: Path | None, limit: float, **words: Any) -> twinset.DedupResult:
        """A fresh run."""
        every = {**KINDS[self.cut.kind].words, **self.cut.words, **words, self.cut.limit: limit}
        return twinset.dedup(str(self.source), output=output, **every)

    def equal_to_fresh(self, folder: Path, limit: float, **words: Any) -> twinset.DedupResult:
        """Cut, run afresh, and hold every file of the one against the other."""
        folder.mkdir(exist_ok=True)
        cut = twinset.open_result(self.out).rethreshold(output=folder / "new", **{self.cut.limit: limit}, **words)
        self.run(folder / "fresh", limit, **words)
        assert bytes_of(folder / "new") == bytes_of(folder / "fresh")
        assert not list(folder.glob("*.twinset-state"))
        return cut


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Results by name, each made once."""
    known: dict[str, Made] = {}

    def get(name: str) -> Made:
        if name not in known:
            folder = tmp_path_factory.mktemp("kinds")
            cut = CUTS[name]
            known[name] = Made(cut, KINDS[cut.kind].write(folder), folder / "out")
            known[name].run(folder / "out", cut.limits[0])
        return known[name]

    return get


def policies(name: str) -> tuple[str, ...]:
    """The keep policies that a source of a kind allows."""
    kind = KINDS[CUTS[name].kind]
    found = POLICIES if kind.columns else ("first", "longest", "source")
    if kind.words.keys() & {"codes", "vectors"}:  # none is longer than another
        return tuple(keep.removesuffix(",longest") for keep in found if keep != "longest")
    return found


TABLES = ("pairs", "removed", "clusters", "empty", "unreadable")


@pytest.mark.parametrize("name", [name for name in MEASURED if name != "npy"])
def test_every_kind_method_and_policy(made: Any, name: str) -> None:
    before = made(name)
    result, limit = twinset.open_result(before.out), before.cut.limits[1]
    for keep, method in itertools.product(policies(name), METHODS):
        cut = result.rethreshold(keep=keep, cluster=method, **{before.cut.limit: limit})
        fresh = before.run(None, limit, keep=keep, cluster=method)
        assert cut.summary["removed"] > result.summary["removed"] > 0, "a wider limit removes more"
        for table in TABLES:
            assert getattr(cut, table).equals(getattr(fresh, table)), (keep, method, table)
        assert cut.summary["options"] == fresh.summary["options"]


@pytest.mark.parametrize("name", CUTS)
def test_every_byte(tmp_path: Path, made: Any, name: str) -> None:
    """Each method with one of the policies, down to the files."""
    before = made(name)
    for method, keep in zip(METHODS, itertools.cycle(policies(name)[1:]), strict=False):
        before.equal_to_fresh(tmp_path / method, before.cut.limits[1], keep=keep, cluster=method)


@pytest.mark.parametrize("name", MEASURED)
def test_every_limit_and_the_flags_of_a_kind(tmp_path: Path, made: Any, name: str) -> None:
    before = made(name)
    for place, limit in enumerate(before.cut.limits[2:]):
        done = before.equal_to_fresh(tmp_path / str(place), limit)
        assert done.summary["removed"] > 0, "copies go at every limit"
    if name not in ("images", "turned images", "npy"):  # files have no columns to add to
        flagged = before._replace(cut=before.cut._replace(words={**before.cut.words, "flag": True}), out=tmp_path / "f")
        flagged.run(tmp_path / "f", before.cut.limits[0])
        flagged.equal_to_fresh(tmp_path / "flagged", before.cut.limits[1], cluster="components")


@pytest.mark.parametrize("name", MEASURED)
def test_a_pair_exactly_at_the_limit_goes(made: Any, name: str) -> None:
    before = made(name)
    column = "distance" if before.cut.limit == "distance" else "similarity"
    result = twinset.open_result(before.out)
    steps = sorted(set(result.pairs[column].to_pylist()))
    for limit in steps[1 : -1 : max(1, len(steps) // 5)]:
        cut = result.rethreshold(**{before.cut.limit: float(limit)})
        assert cut.removed.equals(before.run(None, float(limit)).removed)


def test_codes_are_cut_as_a_run_without_a_floor_finds_them(made: Any) -> None:
    """No pair is missed, whatever the plan, so that more than the plan is the same."""
    before = made("codes")
    for method in METHODS:
        for distance in (0, 2, 8):
            cut = twinset.open_result(before.out).rethreshold(distance=distance, cluster=method)
            bare = twinset.dedup(str(before.source), codes="code", distance=distance, cluster=method)
            assert cut.removed.equals(bare.removed)
            assert cut.clusters.equals(bare.clusters)


@pytest.mark.parametrize("name", ["codes", "vectors by distance", "vectors by cosine", "weighted sets"])
def test_against_another_source_and_within_groups(tmp_path: Path, made: Any, name: str) -> None:
    before = made(name)
    table = pq.read_table(before.source)
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    pq.write_table(table.slice(0, 40), ours)
    pq.write_table(table.slice(20), theirs)
    for place, (source, more) in enumerate(((ours, {"against": [str(theirs)]}), (before.source, {"by": "day"}))):
        cut = before.cut._replace(words={**before.cut.words, **more})
        some = Made(cut, source, tmp_path / f"out{place}")
        some.run(some.out, cut.limits[0])
        assert some.equal_to_fresh(tmp_path / str(place), cut.limits[1]).summary["removed"] > 0


IN_MEMORY = [
    (code_values(), {"codes": "c", "floor": 8}, {"distance": 3}, {"distance": 5}),
    (vector_values(), {"vectors": True, "floor": 0.7}, {"threshold": 0.95}, {"threshold": 0.9}),
    (basket_values(), {"items": "e", "weight": "w", "floor": 0.3}, {"threshold": 0.8}, {"threshold": 0.5}),
]


@pytest.mark.parametrize(("items", "words", "was", "cut"), IN_MEMORY)
def test_cuts_in_memory_equal_fresh_runs(items: Any, words: Any, was: Any, cut: Any) -> None:
    for method in METHODS:
        found = twinset.dedup(items, **words, **was).rethreshold(cluster=method, **cut)
        fresh = twinset.dedup(items, **words, cluster=method, **cut)
        for name in ("pairs", "removed", "clusters", "kept", "empty", "unreadable"):
            assert getattr(found, name).equals(getattr(fresh, name)), name
        assert {**found.summary, "timings": 0} == {**fresh.summary, "timings": 0}
    again = twinset.dedup(items, **words, **was).rethreshold(**cut).rethreshold(**was)
    assert again.removed.equals(twinset.dedup(items, **words, **was).removed), "a cut can be cut again"


@pytest.mark.parametrize("name", MEASURED)
def test_the_limit_that_leaves_so_many_rows(made: Any, name: str) -> None:
    before = made(name)
    result, limit = twinset.open_result(before.out), before.cut.limit
    score = "distance" if limit == "distance" else "similarity"
    ends = [before.cut.words["floor"], 0.0 if limit == "distance" else 1.0]
    steps = sorted({*ends, *result.pairs[score].to_pylist()}, reverse=limit == "distance")
    kept = [result.rethreshold(**{limit: float(step)}).summary["kept"] for step in steps[:: max(1, len(steps) // 8)]]
    for rows in (kept[0], (kept[0] + kept[-1]) // 2, kept[-1]):
        found = result.rethreshold(rows=rows)
        chosen = found.summary["options"][limit]
        assert chosen >= 0
        assert found.summary["kept"] == result.rethreshold(**{limit: chosen}).summary["kept"]
        assert abs(found.summary["kept"] - rows) <= min(abs(count - rows) for count in kept)
        assert len(repr(chosen)) <= 8, "a short number"
    wider = "greater" if limit == "distance" else "lower"
    with pytest.raises(twinset.OptionError, match=f"rows is 1, but .*leave {kept[0]} to .*a {wider} floor="):
        result.rethreshold(rows=1)
    with pytest.raises(twinset.OptionError, match="leave one of them out"):
        result.rethreshold(rows=10, **{limit: before.cut.limits[0]})


def test_a_floor_of_distances_changes_the_pairs_and_no_cluster() -> None:
    codes = code_values()
    plain, low = twinset.dedup(codes, codes="c"), twinset.dedup(codes, codes="c", floor=9)
    assert (plain.plan.distance, low.plan.distance) == (3, 9)
    assert low.removed.equals(plain.removed)
    assert low.pairs.num_rows > plain.pairs.num_rows
    assert max(low.pairs["distance"].to_pylist()) > 3
    vectors = vector_values()
    low = twinset.dedup(vectors, vectors=True, distance=0.3, floor=1.5)
    assert low.removed.equals(twinset.dedup(vectors, vectors=True, distance=0.3).removed)
    assert low.plan.threshold == 1.5


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"codes": "c", "floor": 2}, r"floor is 2, below the distance, 3.*the distance or more"),
    ({"codes": "c", "floor": 4.5}, r"floor is 4.5; codes differ in a whole number of bits"),
    ({"codes": "c", "floor": float("nan")}, r"floor is nan; allowed:"),
    ({"codes": "c", "floor": -1}, r"floor is -1; allowed:"),
    ({"vectors": True, "floor": 1.5}, r"floor is 1.5; allowed: a number above 0 and up to 1"),
    ({"vectors": True, "floor": 0}, r"floor is 0; allowed: a number above 0 and up to 1"),
    ({"vectors": True, "floor": 0.9}, r"floor is 0.9, above the threshold, 0.8"),
    ({"vectors": True, "distance": 2.0, "floor": 1.0}, r"floor is 1, below the distance, 2"),
    ({"text": "t", "floor": 3}, r"floor is 3; allowed: a number above 0 and up to 1"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_floors_that_are_none(words: dict[str, Any], message: str) -> None:
    with pytest.raises(twinset.OptionError, match=message):
        twinset.dedup([], **words)


def test_limits_that_say_nothing_of_a_kind(made: Any) -> None:
    codes, vectors = (twinset.open_result(made(name).out) for name in ("codes", "vectors by cosine"))
    with pytest.raises(twinset.OptionError, match=r"a distance, not a similarity; give distance=, from 0 to 8"):
        codes.rethreshold(0.9)
    with pytest.raises(twinset.OptionError, match=r"a similarity, not a distance; give threshold=, from 0.7 to 1"):
        vectors.rethreshold(distance=3)
    with pytest.raises(twinset.OptionError, match=r"distance is 9, and pairs beyond 8, the floor of .*floor=9"):
        codes.rethreshold(distance=9)
    with pytest.raises(twinset.OptionError, match=r"a whole number of bits"):
        codes.rethreshold(distance=2.5)
    with pytest.raises(twinset.OptionError, match=r"by threshold= or by distance=; leave one of them out"):
        codes.rethreshold(0.9, distance=3)
    with pytest.raises(twinset.OptionError, match=r"pairs beyond 3, the floor of this result, were not scored"):
        twinset.dedup([1, 2], codes="c").rethreshold(distance=4)


def test_what_is_said_of_a_cut(made: Any, tmp_path: Path) -> None:
    before = made("codes")
    twinset.open_result(before.out).rethreshold(distance=5, output=tmp_path / "new")
    told = json.loads((tmp_path / "new/summary.json").read_text("utf-8"))["timings"]["cut_from"]
    assert (told["folder"], told["distance"], told["keep"]) == (str(before.out), 3.0, "first")
    assert "threshold" not in told
