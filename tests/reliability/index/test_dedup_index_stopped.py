"""A dedup against an index that is killed, or that meets another one: the result and the index agree in the end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import twinset as library
from tests.arrivals import ids_in
from tests.reliability.command import (
    STATE,
    STRUCK,
    at_once,
    bytes_of,
    documents,
    environment,
    struck,
    twinset,
    write_lines,
)

KILLED = -signal.SIGKILL
OLD = 100


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Arrivals, every third family of which began among the documents of the index beside them."""
    folder = tmp_path_factory.mktemp("arrivals")
    rows = documents(400)
    with library.Index.create(folder / "before.twinset", seed=3) as index:
        index.add([row["id"] for row in rows[:OLD]], [row["text"] for row in rows[:OLD]])
    for number, row in enumerate(rows[OLD:]):
        if number % 4 == 0:
            row["text"] = rows[number % OLD]["text"] + f" again{number}"
    return write_lines(folder / "in.jsonl", rows[OLD:])


class Place:
    """A folder with an index as it was, and the words of a run on it."""

    def __init__(self, source: Path, folder: Path) -> None:
        folder.mkdir()
        self.index, self.out = folder / "news.twinset", folder / "result"
        shutil.copy(source.parent / "before.twinset", self.index)
        # A relative name, so that what is told of the index is the same in every folder.
        self.words = ["dedup", source, "--index", "news.twinset", "--keep", "highest:score", "-o", "result"]
        self.where = {"cwd": folder}

    @property
    def state(self) -> Path:
        return Path(f"{self.out}{STATE}")


class Undisturbed:
    """A run that nothing happened to."""

    def __init__(self, source: Path, folder: Path) -> None:
        place = Place(source, folder)
        done = twinset(*place.words, "--json", **place.where)
        assert done.code == 0, done.err
        self.summary, self.bytes, self.ids = done.summary, bytes_of(place.out), ids_in(place.index)
        assert 20 < self.summary["index"]["matched"] < self.summary["removed"]
        assert len(self.ids) == OLD + self.summary["kept"]


@pytest.fixture(scope="module")
def whole(source: Path) -> Undisturbed:
    return Undisturbed(source, source.parent / "whole")


def repaired(place: Place, whole: Undisturbed, *more: str) -> dict[str, Any]:
    """Run again, and hold the result and the index against those of the run that nothing happened to."""
    again = twinset(*place.words, "--json", *more, **place.where)
    assert again.code == 0, again.err
    assert ids_in(place.index) == whole.ids
    assert not place.state.exists()
    return again.summary


@pytest.mark.parametrize("finished", [0, 1, 2])
def test_killed_at_each_stage_and_run_again(tmp_path: Path, source: Path, whole: Undisturbed, finished: int) -> None:
    place = Place(source, tmp_path / "place")
    assert struck("KILL", finished + 1, "call:_write_manifest", *place.words, **place.where).code == KILLED
    assert len(ids_in(place.index)) == OLD
    assert not place.out.exists()
    summary = repaired(place, whole)
    assert summary["timings"]["resumed"] == sorted(["sketches", "candidates", "pairs"][:finished])
    assert bytes_of(place.out) == whole.bytes


STEPS = ["find_matches", "_refuse_other_texts", "write_result", "seal_summary", "move_to_output", "commit"]


@pytest.mark.parametrize("moment", STEPS)
def test_killed_at_each_later_step_and_run_again(
    tmp_path: Path, source: Path, whole: Undisturbed, moment: str
) -> None:
    """Up to the last moment nothing is in the index; run again, both are as if nothing had happened."""
    place = Place(source, tmp_path / "place")
    died = struck("KILL", 1, f"call:{moment}", *place.words, **place.where)
    assert died.code == KILLED, died
    assert len(ids_in(place.index)) == OLD
    assert place.out.exists() == (moment == "commit")
    if moment == "commit":
        assert bytes_of(place.out) == whole.bytes
        twinset(*place.words, **place.where).refused("exists", "--force")
        assert len(ids_in(place.index)) == OLD
    summary = repaired(place, whole, *(["--force"] if moment == "commit" else []))
    assert summary["timings"]["resumed"] == ["candidates", "pairs", "sketches"]
    assert bytes_of(place.out) == whole.bytes


def test_killed_when_all_is_done_but_the_cleaning_up(tmp_path: Path, source: Path, whole: Undisturbed) -> None:
    """The index has what was kept; run again, the answer is the same, and nothing is added twice."""
    seen = Place(source, tmp_path / "seen")
    listed = struck("list", 0, f"result{STATE}", *seen.words, "--quiet", **seen.where)
    acts = listed.out.splitlines()
    [moved] = [number for number, act in enumerate(acts, 1) if act.startswith("os.rename") and act.endswith(" result")]
    place = Place(source, tmp_path / "place")
    assert struck("KILL", moved + 1, f"result{STATE}", *place.words, **place.where).code == KILLED
    assert ids_in(place.index) == whole.ids
    assert bytes_of(place.out) == whole.bytes
    summary = repaired(place, whole, "--force")
    assert (summary["index"]["added"], summary["index"]["there"]) == (0, whole.summary["kept"])
    found, differ = bytes_of(place.out), {"summary.json", "earlier.parquet"}
    assert {name for name in found if found[name] != whole.bytes[name]} == differ
    told = {name: value for name, value in summary.items() if name not in ("timings", "files", "check", "index")}
    assert told == {name: whole.summary[name] for name in told}


@pytest.mark.parametrize("moment", ["write_result", "commit"])
def test_killed_with_the_index_in_postgres(
    tmp_path: Path, source: Path, whole: Undisturbed, postgres_url: str, moment: str
) -> None:
    """The server forgets what was not committed, and lets go of the lock."""
    rows = documents(400)[:OLD]
    with library.Index.create(postgres_url, seed=3) as index:
        index.add([row["id"] for row in rows], [row["text"] for row in rows])
    out = tmp_path / "result"
    words = ["dedup", source, "--index", postgres_url, "--keep", "highest:score", "-o", out]
    assert struck("KILL", 1, f"call:{moment}", *words).code == KILLED
    assert len(ids_in(postgres_url)) == OLD
    again = twinset(*words, "--json", *(["--force"] if out.exists() else []))
    assert again.summary["timings"]["resumed"] == ["candidates", "pairs", "sketches"]
    assert ids_in(postgres_url) == whole.ids
    found = bytes_of(out)
    assert {name for name in found if found[name] != whole.bytes[name]} == {"summary.json"}


def test_an_index_that_was_changed_meanwhile_is_asked_anew(tmp_path: Path, source: Path, whole: Undisturbed) -> None:
    """What a killed run had been told by the index is forgotten: another one may have kept the story since."""
    place = Place(source, tmp_path / "place")
    assert struck("KILL", 1, "call:commit", *place.words, **place.where).code == KILLED
    story = next(id for id in whole.ids[OLD:] if id in place.out.joinpath("kept", "in.jsonl").read_text())
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    text = next(row["text"] for row in rows if row["id"] == story)
    with library.Index.open(place.index) as index:
        index.add(["rival"], [text])
    again = twinset(*place.words, "--force", "--json", **place.where)
    assert again.summary["timings"]["resumed"] == ["candidates", "pairs", "sketches"]
    assert again.summary["index"]["matched"] > whole.summary["index"]["matched"]
    assert story not in ids_in(place.index)
    reasons = library.open_result(place.out).removed.to_pylist()
    assert [row["because_of"] for row in reasons if row["id"] == story] == ["rival"]


def test_an_index_of_another_seed_starts_anew(tmp_path: Path, source: Path) -> None:
    place = Place(source, tmp_path / "place")
    assert struck("KILL", 1, "call:earlier", *place.words, **place.where).code == KILLED
    place.index.unlink()
    with library.Index.create(place.index, seed=4):
        pass
    again = twinset(*place.words, "--json", **place.where)
    assert again.summary["timings"]["resumed"] == []
    assert (again.summary["index"]["matched"], again.summary["index"]["added"]) == (0, again.summary["kept"])
    assert len(ids_in(place.index)) == again.summary["kept"]


LIMITED = (
    "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); limit = int(sys.argv[1]); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)); "
    "from twinset.cli import main; sys.exit(main(sys.argv[2:]))"
)


def no_file_larger_than(limit: int, source: Path, folder: Path, whole: Undisturbed) -> str:
    """Run where no file can grow beyond a limit, then where it can; gives what happened the first time."""
    place = Place(source, folder)
    command = [sys.executable, "-c", LIMITED, str(limit), *map(str, place.words), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(None), **place.where)
    if done.returncode == 0:
        assert bytes_of(place.out) == whole.bytes
        assert ids_in(place.index) == whole.ids
        return "done"
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert len(ids_in(place.index)) == OLD
    if place.out.exists():
        assert "result is complete, but its kept documents are not in the index; run again with --force" in done.stderr
        assert bytes_of(place.out) == whole.bytes
    repaired(place, whole, *(["--force"] if "in place" in done.stderr else []))
    assert bytes_of(place.out) == whole.bytes
    return "in place" if "in place" in done.stderr else "refused"


def test_the_disk_is_full_while_documents_are_added(tmp_path: Path, source: Path, whole: Undisturbed) -> None:
    limits = [60_000, 140_000, 1_000_000]
    happened = [no_file_larger_than(limit, source, tmp_path / str(limit), whole) for limit in limits]
    assert happened == ["refused", "refused", "done"]


@pytest.mark.soak
def test_the_disk_is_full_at_each_page(tmp_path: Path, source: Path, whole: Undisturbed) -> None:
    """Up to the very last pages it shows before OUT is in its place; of those the error tells what to do."""
    limits = range(40_000, 320_000, 4096)
    happened = at_once(
        [lambda limit=limit: no_file_larger_than(limit, source, tmp_path / str(limit), whole) for limit in limits]
    )
    assert happened == sorted(happened, key=["refused", "in place", "done"].index)
    assert happened.count("in place") <= 8 < happened.count("refused")


# Two at once


@pytest.fixture
def stopped(tmp_path: Path, source: Path) -> Iterator[tuple[Place, subprocess.Popen[bytes]]]:
    """A run that has asked the index, and stands still before it adds anything."""
    place = Place(source, tmp_path / "place")
    command = [sys.executable, STRUCK, "STOP", "1", "call:_refuse_other_texts", *map(str, place.words), "--quiet"]
    run = subprocess.Popen(command, env=environment(tmp_path / "scratch"), **place.where)
    os.waitid(os.P_PID, run.pid, os.WSTOPPED)
    yield place, run
    run.kill()
    run.wait()


def test_nobody_can_change_the_index_between_question_and_answer(
    whole: Undisturbed, stopped: tuple[Place, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    place, run = stopped
    with library.Index.open(place.index) as index:
        with pytest.raises(library.BusyError, match=rf"process {run.pid} .*dedup"):
            index.add(["in between"], ["one more"], timeout=0)
        assert len(index) == OLD
    rival = [*place.words[:-1], "rival"]
    line = twinset(*rival, "--timeout", "0", **place.where).refused("another writer holds the index", str(run.pid))
    assert "--timeout" in line
    assert Path(f"{place.out.parent / 'rival'}{STATE}").exists(), "what was found out so far is kept"
    run.send_signal(signal.SIGCONT)
    assert run.wait(600) == 0
    assert bytes_of(place.out) == whole.bytes
    late = twinset(*rival, "--json", **place.where)
    assert late.summary["timings"]["resumed"] == ["candidates", "pairs", "sketches"]
    assert ids_in(place.index) == whole.ids


def test_of_runs_at_the_same_time_one_keeps_a_story(tmp_path: Path) -> None:
    """The same stories under other ids come in four times at once; each is kept once, and by one run."""
    with library.Index.create(tmp_path / "news.twinset", seed=3):
        pass
    rows = [row for row in documents(60, family=1) if row["text"]]
    words = []
    for number in range(4):
        named = [{**row, "id": f"{number}-{row['id']}", "text": f"{row['text']} edition{number}"} for row in rows]
        file = write_lines(tmp_path / f"in-{number}.jsonl", named)
        words.append(["dedup", file, "--index", tmp_path / "news.twinset", "-o", tmp_path / f"out-{number}", "--json"])
    done = at_once([lambda one=one: twinset(*one, "--timeout", "600") for one in words])
    assert [one.code for one in done] == [0] * 4
    kept = sorted(one.summary["kept"] for one in done)
    assert kept == [0, 0, 0, len(rows)]
    assert len(ids_in(tmp_path / "news.twinset")) == len(rows)
