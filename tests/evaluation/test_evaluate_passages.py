"""An evaluation of passages as a user sees it: texts in folders, a truth, measures and files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import twinset
from tests.evaluation.test_evaluate import WORDS
from tests.evaluation.test_passage_measures import Span, plagdet
from twinset.errors import OptionError, OutputError, SourceError

NAMES = ("left", "left_start", "left_end", "right", "right_start", "right_end")


def text(seed: int, words: int) -> str:
    chance = random.Random(seed)
    return " ".join(f"{chance.choice(WORDS)}{seed}" for _ in range(words))


class Corpus:
    """Two folders of texts: each of `new` has passages of `old`, and the truth says where."""

    def __init__(self, folder: Path) -> None:
        self.new, self.old, self.truth = folder / "new", folder / "old" / "deep", folder / "truth.csv"
        self.rows: list[tuple[Any, ...]] = []
        for place in (self.new, self.old):
            place.mkdir(parents=True)
        sources = [text(100 + number, 200) for number in range(4)]
        for number, source in enumerate(sources):
            (self.old / f"old{number}.txt").write_text(source, "utf-8")
        for number in range(3):
            # Characters beyond ASCII: places are code points, not bytes.
            written = "größer " * 3 + text(number, 100)
            for other in (number, number + 1):
                start = sources[other].index(" ", 300 * (other - number)) + 1
                copied = " ".join(sources[other][start:].split()[:40])
                written += " "
                self.rows.append(
                    (
                        f"new{number}",
                        len(written),
                        len(written) + len(copied),
                        f"old{other}",
                        start,
                        start + len(copied),
                    )
                )
                written += f"{copied} {text(10 * (number + 1) + other, 60)}"
            (self.new / f"new{number}.txt").write_text(written, "utf-8")
        self.write(self.rows)

    def write(self, rows: list[tuple[Any, ...]]) -> None:
        lines = [",".join(NAMES), *(",".join(map(str, row)) for row in rows)]
        self.truth.write_text("\n".join(lines) + "\n", "utf-8")

    def evaluate(self, **options: Any) -> twinset.jobs.evaluate.PassageEvaluation:
        given = {"least": 20, "passages": self.truth, **options}
        return twinset.evaluate(self.new, against=self.old.parent, **given)  # type: ignore[no-any-return]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def test_copied_passages_are_found_where_they_are(corpus: Corpus) -> None:
    done = corpus.evaluate()
    assert (done.precision, done.recall, done.granularity, done.plagdet) == (1.0, 1.0, 1.0, 1.0)
    counts = ("cases", "detected_cases", "detections", "false_detections")
    assert [done.summary["measures"][name] for name in counts] == [6, 6, 6, 0]
    assert (done.summary["documents"], done.summary["against"], done.summary["elsewhere"]["passages"]) == (3, 4, 0)
    assert done.detections["left"].to_pylist()[0] == "new0.txt"
    assert done.detections["right"].to_pylist()[0] == "deep/old0.txt"


def test_it_measures_what_find_passages_finds(corpus: Corpus) -> None:
    # A truth that is a little wrong, with two document pairs left out.
    rows = [(one, start + 30, end + 50, other, low, high - 20) for one, start, end, other, low, high in corpus.rows[:4]]
    corpus.write([*rows, ("new0", 0, 10, "old0", 0, 10)])
    done = corpus.evaluate()
    found = twinset.find_passages(corpus.new, against=corpus.old.parent, least=20).passages.to_pylist()
    pairs = {(f"{row[0]}.txt", f"deep/{row[3]}.txt"): number for number, row in enumerate(rows)}
    listed = [
        Span(pairs[row["left"], row["right"]], *(row[name] for name in (*NAMES[1:3], *NAMES[4:])))
        for row in found
        if (row["left"], row["right"]) in pairs
    ]
    cases = [Span(number, *row[1:3], *row[4:]) for number, row in enumerate(rows)] + [Span(0, 0, 10, 0, 10)]
    recall, precision, granularity, score = plagdet(cases, listed)
    assert (done.recall, done.precision, done.granularity, done.plagdet) == pytest.approx(
        (recall, precision, granularity, score)
    )
    assert done.summary["elsewhere"] == {"passages": 2, "pairs": 2}
    assert corpus.evaluate(complete=True).summary["measures"]["false_detections"] == 2


def test_the_sources_may_be_one_collection(corpus: Corpus) -> None:
    done = twinset.evaluate(corpus.new, corpus.old, passages=corpus.truth, least=20)
    assert (done.precision, done.recall, done.summary["against"]) == (1.0, 1.0, 0)


def test_passages_within_a_document(tmp_path: Path) -> None:
    twice = f"{text(1, 40)} {text(2, 40)} {text(1, 40)}"
    length = len(text(1, 40))
    row = ("a", 0, length, "a", len(twice) - length, len(twice))
    truth = pa.Table.from_pylist([dict(zip(NAMES, row, strict=True))])
    found = twinset.evaluate({"a": twice, "b": text(3, 40)}, passages=truth, least=20, within=True)
    assert (found.plagdet, found.summary["truth"]["with_itself"]) == (1.0, 0)
    without = twinset.evaluate({"a": twice, "b": text(3, 40)}, passages=truth, least=20)
    assert (without.plagdet, without.summary["truth"]["with_itself"]) == (None, 1)


def test_passages_found_can_be_the_truth(corpus: Corpus) -> None:
    found = twinset.find_passages(corpus.new, against=corpus.old, least=20).passages
    done = twinset.evaluate(corpus.new, against=corpus.old, passages=found, least=20)
    assert (done.plagdet, done.summary["measures"]["cases"]) == (1.0, 6)


def test_the_folder_that_is_written(corpus: Corpus, tmp_path: Path) -> None:
    for _ in range(2):  # the second run does not read what the first one has written
        done = corpus.evaluate(output=corpus.new / "out", force=True)
        assert done.path == corpus.new / "out"
        assert done.summary["documents"] == 3
    written = json.loads((corpus.new / "out" / "evaluation.json").read_text("utf-8"))
    assert written == done.summary
    assert (written["options"]["least"], "threshold" in written["options"]) == (20, False)
    with pytest.raises(OutputError, match="out exists; choose another output, or replace it with force=True"):
        corpus.evaluate(output=corpus.new / "out")


def test_results_do_not_depend_on_threads_or_memory(corpus: Corpus) -> None:
    def measured(**more: Any) -> tuple[Any, ...]:
        done = corpus.evaluate(gap=5, **more)
        return done.summary["measures"], done.cases, done.detections

    assert measured(threads=1, batch_bytes=1024) == measured(threads=4) == measured(memory="512MB")


def test_a_wrong_truth_stops_before_the_sources_are_read(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("left,right\na,b\n")
    with pytest.raises(SourceError, match=r"truth\.csv: a truth of passages must have the columns left, .* it lacks"):
        twinset.evaluate(tmp_path / "there is no such source", passages=tmp_path / "truth.csv")


def test_options_of_the_search_are_checked(corpus: Corpus) -> None:
    with pytest.raises(OptionError, match="cannot be used with against="):
        corpus.evaluate(within=True)
    with pytest.raises(OptionError, match="least is 0; allowed: a whole number from 1"):
        corpus.evaluate(least=0)
