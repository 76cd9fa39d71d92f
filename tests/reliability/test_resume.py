"""A killed run, started again with the same words, goes on from its last finished stage to the same bytes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import twinset as library
from tests.reliability.command import (
    STATE,
    Done,
    acts,
    at_once,
    bytes_of,
    documents,
    environment,
    run_seed,
    struck,
    twinset,
    write_lines,
)

STAGES = ["sketches", "candidates", "pairs"]
KILLED = -signal.SIGKILL
WORD = f"result{STATE}"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("resume") / "in.jsonl", documents(400))


class Undisturbed:
    """A run that nothing happened to: its acts on files, and its output."""

    def __init__(self, folder: Path, words: list[object], name: str) -> None:
        folder.mkdir()
        self.words = words
        self.acts = acts(f"{name}{STATE}", *words, "-o", folder / name)
        self.bytes = bytes_of(folder / name)

    def number_of(self, act: str, nth: int = 0) -> int:
        """The number of the nth act that ends thus."""
        return [number for number, one in enumerate(self.acts, 1) if one.endswith(act)][nth]


@pytest.fixture(scope="module")
def dedup(source: Path) -> Undisturbed:
    return Undisturbed(source.parent / "dedup", ["dedup", source, "--keep", "highest:score"], "result")


def killed_then_run_again(run: Undisturbed, folder: Path, name: str, at: int) -> Done:
    folder.mkdir()
    out = folder / name
    died = struck("KILL", at, f"{name}{STATE}", *run.words, "-o", out)
    assert died.code == KILLED, died
    assert not out.exists()
    again = twinset(*run.words, "-o", out, "--json")
    assert again.code == 0, again.err
    assert bytes_of(out) == run.bytes
    assert not Path(f"{out}{STATE}").exists()
    assert [path.name for path in folder.iterdir()] == [name]
    return again


def moments(run: Undisturbed, last: str) -> Iterator[tuple[int, int]]:
    """Where to strike, and how many stages are finished by then."""
    yield run.number_of("/keys w"), 0
    for stage in range(len(STAGES)):
        done = run.number_of("/manifest.json", stage)
        yield done, stage  # all of the stage is written, but it is not yet marked as finished
        yield done + 1, stage + 1
    yield run.number_of(last), 3


def test_a_killed_dedup_goes_on_from_each_stage(tmp_path: Path, dedup: Undisturbed) -> None:
    ends = [(dedup.number_of("/summary.json w"), 3), (dedup.number_of("/result"), 3)]
    points = [*moments(dedup, "/kept/in.jsonl w"), *ends]

    def check(at: int, finished: int) -> None:
        again = killed_then_run_again(dedup, tmp_path / str(at), "result", at)
        assert again.summary["timings"]["resumed"] == sorted(STAGES[:finished])
        assert ("resuming an interrupted run" in again.err) == (finished > 0)

    at_once([lambda at=at, finished=finished: check(at, finished) for at, finished in points])


def test_a_killed_dedup_by_containment_goes_on_from_each_stage(tmp_path: Path, source: Path) -> None:
    """The set sizes, by which documents are ordered, are resumed with the candidates."""
    run = Undisturbed(tmp_path / "whole", ["dedup", source, "--contained", "0.7"], "result")

    def check(at: int, finished: int) -> None:
        again = killed_then_run_again(run, tmp_path / str(at), "result", at)
        assert again.summary["timings"]["resumed"] == sorted(STAGES[:finished])

    points = [*moments(run, "/kept/in.jsonl w")]
    at_once([lambda at=at, finished=finished: check(at, finished) for at, finished in points])


def test_killed_pairs_go_on_from_each_stage(tmp_path: Path, source: Path) -> None:
    run = Undisturbed(tmp_path / "whole", ["pairs", source, "--threshold", "0.7"], "result.csv")

    def check(at: int, finished: int) -> None:
        again = killed_then_run_again(run, tmp_path / str(at), "result.csv", at)
        assert again.summary["timings"]["resumed"] == sorted(STAGES[:finished])

    at_once([lambda at=at, finished=finished: check(at, finished) for at, finished in moments(run, "/out.csv w")][3::2])


def test_killed_twice(tmp_path: Path, dedup: Undisturbed) -> None:
    out = tmp_path / "result"
    first = dedup.number_of("/manifest.json") + 1
    assert struck("KILL", first, WORD, *dedup.words, "-o", out).code == KILLED
    assert struck("KILL", 15, WORD, *dedup.words, "-o", out).code == KILLED
    again = twinset(*dedup.words, "-o", out, "--json")
    assert "sketches" in again.summary["timings"]["resumed"]
    assert bytes_of(out) == dedup.bytes


def test_killed_when_all_is_done_but_the_cleaning_up(tmp_path: Path, dedup: Undisturbed) -> None:
    out = tmp_path / "result"
    assert struck("KILL", dedup.number_of("/result") + 1, WORD, *dedup.words, "-o", out).code == KILLED
    assert bytes_of(out) == dedup.bytes
    twinset(*dedup.words, "-o", out).refused("exists", "--force")
    assert bytes_of(out) == dedup.bytes
    assert twinset(*dedup.words, "-o", out, "--force").code == 0
    assert bytes_of(out) == dedup.bytes
    assert not Path(f"{out}{STATE}").exists()


def test_killed_while_it_replaces_an_older_output(tmp_path: Path, dedup: Undisturbed) -> None:
    """Before the older one is moved aside, between that and the new one taking its place, and after both."""
    older = [*dedup.words, "--threshold", "0.99"]

    def check(later: int) -> None:
        out = tmp_path / str(later) / "result"
        words = [*dedup.words, "-o", out, "--force"]
        assert twinset(*older, "-o", out).code == 0
        before = bytes_of(out)
        assert struck("KILL", dedup.number_of("/result") + later, WORD, *words).code == KILLED
        assert not out.exists() or bytes_of(out) in (before, dedup.bytes)
        assert twinset(*words).code == 0
        assert bytes_of(out) == dedup.bytes
        assert not Path(f"{out}{STATE}").exists()

    at_once([lambda later=later: check(later) for later in range(3)])


def test_threads_may_change_between_a_kill_and_the_next_run(tmp_path: Path, dedup: Undisturbed) -> None:
    out = tmp_path / "result"
    at = dedup.number_of("/manifest.json", 1) + 1
    assert struck("KILL", at, WORD, *dedup.words, "-o", out, "--threads", "1").code == KILLED
    again = twinset(*dedup.words, "-o", out, "--threads", "3", "--json")
    assert again.summary["timings"]["resumed"] == ["candidates", "sketches"]
    assert bytes_of(out) == dedup.bytes


def test_other_options_start_anew(tmp_path: Path, source: Path, dedup: Undisturbed) -> None:
    out, other = tmp_path / "result", tmp_path / "other"
    assert struck("KILL", dedup.number_of("/summary.json w"), WORD, *dedup.words, "-o", out).code == KILLED
    words = ["dedup", source, "--keep", "highest:score", "--threshold", "0.5"]
    again = twinset(*words, "-o", out, "--json")
    assert again.summary["timings"]["resumed"] == []
    twinset(*words, "-o", other)
    assert bytes_of(out) == bytes_of(other)
    assert not Path(f"{out}{STATE}").exists()


def test_a_changed_source_starts_anew(tmp_path: Path) -> None:
    source, out = write_lines(tmp_path / "in.jsonl", documents(200)), tmp_path / "result"
    assert struck("KILL", 1, "/summary.json", "dedup", source, "-o", out).code == KILLED
    about = source.stat()
    write_lines(source, documents(200, seed=2))
    os.utime(source, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    again = twinset("dedup", source, "-o", out, "--json")
    assert again.summary["timings"]["resumed"] == []
    twinset("dedup", source, "-o", tmp_path / "clean")
    assert bytes_of(out) == bytes_of(tmp_path / "clean")


IN_MEMORY = """
import os, signal, sys
import twinset
def watch(event, values):
    if event == "open" and str(values[0]).endswith("summary.json"):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
twinset.dedup(["one two three four five six", "one two three four five six", "ten men"], output=sys.argv[1])
"""


def test_other_texts_in_memory_start_anew(tmp_path: Path) -> None:
    """Equal in number and size, but not the same: what was found out about one list says nothing of another."""
    out = tmp_path / "result"
    died = subprocess.run([sys.executable, "-c", IN_MEMORY, str(out)], env=environment(tmp_path / "scratch"))
    assert died.returncode == KILLED
    assert Path(f"{out}{STATE}").exists()
    texts = ["one two three four five six", "six two three four five one", "ten men"]
    done = library.dedup(texts, output=out)
    assert done.summary["timings"]["resumed"] == []
    assert done.summary["removed"] == 0


def test_a_second_run_on_the_same_output_is_refused(tmp_path: Path, dedup: Undisturbed) -> None:
    out = tmp_path / "result"
    first = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "struck.py"), "STOP", str(dedup.number_of("/manifest.json")), WORD]
        + [str(word) for word in [*dedup.words, "-o", out, "--quiet"]],
        env=environment(tmp_path / "scratch"),
    )
    os.waitid(os.P_PID, first.pid, os.WSTOPPED)
    try:
        line = twinset(*dedup.words, "-o", out).refused("another run", f"result{STATE}")
        assert "another output" in line
    finally:
        first.send_signal(signal.SIGCONT)
    assert first.wait(600) == 0
    assert bytes_of(out) == dedup.bytes


@pytest.mark.soak
def test_killed_before_every_single_act(tmp_path: Path, dedup: Undisturbed) -> None:
    last = dedup.number_of("/result")
    at_once([lambda at=at: killed_then_run_again(dedup, tmp_path / str(at), "result", at) for at in range(1, last + 1)])


@pytest.mark.soak
def test_killed_at_fifty_random_moments(tmp_path: Path) -> None:
    """From outside, at any moment, again and again on the same output until it is there."""
    seed = run_seed()
    dice = random.Random(seed)
    source = write_lines(tmp_path / "in.jsonl", documents(30_000))
    words = ["dedup", source, "--memory", "512MB"]
    assert twinset(*words, "-o", tmp_path / "clean").code == 0
    expected = bytes_of(tmp_path / "clean")
    kills, ends = 0, 0
    while kills < 50:
        out = tmp_path / f"out-{ends}"
        command = [sys.executable, "-m", "twinset", *map(str, [*words, "-o", out, "--quiet"])]
        run = subprocess.Popen(command, env=environment(tmp_path / "scratch"))
        try:
            code = run.wait(dice.uniform(0.3, 4))
        except subprocess.TimeoutExpired:
            run.kill()
            code = run.wait()
        if code == KILLED:
            kills += 1
            continue
        assert code == 0 or (out.exists() and code == 2), f"seed {seed}"
        assert bytes_of(out) == expected, f"seed {seed}"
        ends += 1
        time.sleep(0)


def test_the_manifest_says_what_is_finished(tmp_path: Path, dedup: Undisturbed) -> None:
    out = tmp_path / "result"
    assert struck("KILL", dedup.number_of("/summary.json w"), WORD, *dedup.words, "-o", out).code == KILLED
    manifest = json.loads((tmp_path / WORD / "manifest.json").read_text())
    assert sorted(json.loads(manifest["body"])["stages"]) == sorted(STAGES)
