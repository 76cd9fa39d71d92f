"""The promises kept for every kind of item: killed, stopped or out of space, the same bytes come out, or none."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.kinds import KINDS
from tests.reliability.command import STATE, acts, at_once, bytes_of, struck, twinset
from tests.reliability.test_no_space import at_most
from tests.reliability.test_resume import KILLED

MEASURED = ("weighted sets", "weighted groups", "codes", "vectors", "npy", "images", "turned images")


class Run:
    """A run of a kind that nothing happened to: its words, its acts on files, and its output."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.source = name, KINDS[name].write(folder)
        self.words = ["dedup", self.source, *KINDS[name].flags]
        self.acts = acts(f"result{STATE}", *self.words, "-o", folder / "result")
        self.bytes = bytes_of(folder / "result")
        self.stages = ["pairs", "sketches"] if name in MEASURED else ["candidates", "pairs", "sketches"]

    def number_of(self, act: str, nth: int = 0) -> int:
        """The number of the nth act that ends thus."""
        return [number for number, one in enumerate(self.acts, 1) if one.endswith(act)][nth]

    def moments(self) -> list[tuple[int, list[str]]]:
        """Where to strike, and what is finished by then: while it reads, when all is found, when all is written."""
        last = len(self.stages) - 1
        return [
            (self.number_of("/counts w"), []),
            (self.number_of("/manifest.json") + 1, ["sketches"]),
            (self.number_of("/manifest.json", last) + 1, self.stages),
            (self.number_of("/summary.json w"), self.stages),
        ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """One of each kind."""
    made = at_once([lambda name=name: Run(name, tmp_path_factory.mktemp("kind")) for name in KINDS])
    return dict(zip(KINDS, made, strict=True))


def test_every_kind_goes_on_after_a_kill(tmp_path: Path, runs: dict[str, Run]) -> None:
    def check(run: Run, at: int, finished: list[str]) -> None:
        folder = tmp_path / f"{run.name}-{at}"
        folder.mkdir()
        out = folder / "result"
        died = struck("KILL", at, f"result{STATE}", *run.words, "-o", out)
        assert died.code == KILLED, died
        assert not out.exists()
        again = twinset(*run.words, "-o", out, "--json")
        assert again.code == 0, again.err
        assert again.summary["timings"]["resumed"] == finished, (run.name, at)
        assert bytes_of(out) == run.bytes, (run.name, at)
        assert [path.name for path in folder.iterdir()] == ["result"]

    # Two of the moments a kind, by turns.
    every = [(run, *run.moments()[place % 2 + at]) for place, run in enumerate(runs.values()) for at in (0, 2)]
    at_once([lambda one=one: check(*one) for one in every])


def test_a_kind_that_is_stopped_leaves_no_output(tmp_path: Path, runs: dict[str, Run]) -> None:
    """One moment a kind, each another: while it reads, when it has read, while it compares, while it writes."""
    words = (f"result{STATE}/counts", "manifest.json", "/out/pairs.parquet", "/out/summary.json")

    def check(run: Run, word: str) -> None:
        folder = tmp_path / run.name
        folder.mkdir()
        out, scratch = folder / "result", folder / "scratch"
        done = struck("INT", 1, word, *run.words, "-o", out, scratch=scratch)
        assert (done.code, done.out) == (130, ""), (run.name, done.err)
        assert not out.exists()
        assert list(scratch.iterdir()) == []
        if word.startswith("/out/"):
            assert "run the same command again to resume" in done.lines[0], done.err
            assert twinset(*run.words, "-o", out, "--json").summary["timings"]["resumed"]
            assert bytes_of(out) == run.bytes
        else:
            assert done.lines == ["twinset: stopped; no partial output is left"], done.err
        assert not Path(f"{out}{STATE}").exists()

    some = [runs[name] for name in ("groups", "weighted sets", "codes", "vectors", "images")]
    at_once([lambda one=one: check(*one) for one in zip(some, itertools.cycle(words), strict=False)])


def test_no_space_for_what_is_measured(tmp_path: Path, runs: dict[str, Run]) -> None:
    run = runs["vectors"]
    largest = max(path.stat().st_size for path in (run.source.parent / "result").rglob("*") if path.is_file())

    def check(size: int) -> None:
        out = tmp_path / str(size)
        twinset(*run.words, "-o", out, preexec_fn=at_most(size)).refused("no space left")
        assert not out.exists()
        assert twinset(*run.words, "-o", out).code == 0
        assert bytes_of(out) == run.bytes
        assert not Path(f"{out}{STATE}").exists()

    at_once([lambda size=size: check(size) for size in (200, 1_500, largest - 1)])


def test_the_same_bytes_for_any_threads_batch_and_memory(tmp_path: Path, runs: dict[str, Run]) -> None:
    ways = (["--threads", "1", "--batch", "1KiB"], ["--threads", "3", "--memory", "512MB"])

    def check(run: Run, number: int, way: list[str]) -> None:
        out = tmp_path / f"{run.name}-{number}"
        done = twinset(*run.words, "-o", out, *way)
        assert done.code == 0, done.err
        assert bytes_of(out) == run.bytes, (run.name, way)

    every = [(run, number, way) for run in runs.values() for number, way in enumerate(ways)]
    at_once([lambda one=one: check(*one) for one in every])


CUT = [("codes", ["--floor", "8"], ["--distance", "5"]), ("images", ["--floor", "10"], ["--distance", "8"])]


@pytest.mark.parametrize(("name", "floor", "limit"), CUT)
def test_a_cut_that_is_killed_is_made_anew(
    tmp_path: Path, runs: dict[str, Run], name: str, floor: list[str], limit: list[str]
) -> None:
    out, new, whole = (tmp_path / one for one in ("out", "new", "whole"))
    assert twinset(*runs[name].words, *floor, "-o", out, "--quiet").code == 0
    words = ["recut", out, *limit, "--cluster", "components"]
    assert twinset(*words, "-o", whole, "--quiet").code == 0
    for word in (f"new{STATE}/scratch-", "/out/removed.parquet", "/out/summary.json"):
        assert struck("KILL", 1, word, *words, "-o", new).code == KILLED
        assert not new.exists()
    assert twinset(*words, "-o", new, "--quiet").code == 0
    assert bytes_of(new) == bytes_of(whole)
    assert not Path(f"{new}{STATE}").exists()
