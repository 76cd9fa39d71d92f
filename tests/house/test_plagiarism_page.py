"""The page on copied answers says what was measured, and what is measured is right."""

from __future__ import annotations

import json
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from benchmarks import plagiarism
from benchmarks.measure import BenchmarkError
from benchmarks.plagiarism import Example

# Two sources that share no word.
ARTICLES = {task: " ".join(f"{task}{number}" for number in range(60)) for task in "ab"}


def measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plagiarism.FIGURES.read_text("utf-8"))
    return found


def test_the_tables_of_the_page_are_what_was_measured() -> None:
    page = plagiarism.PAGE.read_text("utf-8")
    for begin, end, section in (
        (plagiarism.BEGIN, plagiarism.END, plagiarism.section),
        (plagiarism.BEGIN_SEARCH, plagiarism.END_SEARCH, plagiarism.search_section),
        (plagiarism.BEGIN_PASSAGES, plagiarism.END_PASSAGES, plagiarism.passages_section),
    ):
        written = page.split(begin)[1].split(end)[0]
        assert written.strip() == section(measured()).strip()


def test_the_goal_is_reached() -> None:
    goals = plagiarism.goals(measured())
    assert len(goals) == 4
    assert all(met for *_, met in goals)


scores = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])


@given(st.lists(st.builds(Example, scores, st.integers(0, 3)), min_size=1, max_size=9), st.sampled_from([2, 4]))
def test_no_cuts_are_better_than_the_best(examples: list[Example], classes: int) -> None:
    examples = [Example(one.score, min(one.label, classes - 1)) for one in examples]
    best = plagiarism.accuracy(examples, plagiarism.best_cuts(examples, classes))
    places = [-1.0, 0.05, 0.2, 0.3, 0.6, 0.8, 2.0]
    tried = (plagiarism.accuracy(examples, cuts) for cuts in combinations_with_replacement(places, classes - 1))
    assert best == max(tried)


def test_a_fold_is_judged_by_the_others() -> None:
    # Without the fold b, everything from 0.3 up is of class 1; in b it is the other way round.
    table = [Example(0.1, 0), Example(0.5, 1), Example(0.1, 0), Example(0.5, 1), Example(0.5, 0), Example(0.1, 1)]
    share, said = plagiarism.cross_validated([table], list("aaccbb"), 2)
    assert said[4:] == [1, 0]
    assert share == sum(one == example.label for one, example in zip(said, table, strict=True)) / 6 <= 4 / 6


def test_the_table_is_chosen_without_the_fold() -> None:
    labels = [0, 1, 0, 1, 0, 1]
    right = [Example(float(label), label) for label in labels]
    useless = [Example(0.5, label) for label in labels]
    assert plagiarism.cross_validated([useless, right], range(6), 2) == (1.0, labels)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sources, and answers that hold all, two thirds, a third or nothing of their source."""
    lines = ["File,Task,Category"]
    for task, article in ARTICLES.items():
        for level, category in enumerate(plagiarism.LEVELS):
            words = article.split()[: 20 * level] + [f"own{task}{number}" for number in range(60 - 20 * level)]
            name = f"g0p{category}_task{task}.txt"
            (tmp_path / name).write_text(" ".join(words), "latin-1")
            lines.append(f"{name},{task},{category}")
        (tmp_path / f"orig_task{task}.txt").write_text(article, "latin-1")
        lines.append(f"orig_task{task}.txt,{task},orig")
    (tmp_path / "file_information.csv").write_text("\n".join(lines) + "\n", "latin-1")
    return tmp_path


def test_a_small_corpus_by_hand(folder: Path) -> None:
    answers, sources = plagiarism.read(folder)
    shares = plagiarism.containments(answers, sources, "word:1")
    heavy = next(place for place, answer in enumerate(answers) if answer.level == 1 and answer.task == "a")
    assert shares[heavy] == {"a": 20 / 60, "b": 0.0}
    found = plagiarism.study(folder)
    assert found["answers"] == {"non": 2, "heavy": 2, "light": 2, "cut": 2}
    one = found["shingles"]["word:1"]
    assert one["ranked"] == {"copied": 6, "first": 6, "missed": []}
    assert one["two"]["cuts"] == [10 / 60]
    assert one["four"]["cuts"] == pytest.approx([1 / 6, 1 / 2, 5 / 6])
    assert [one["four"][name] for name in ("on itself", "answer", "task")] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("shingle", ["word:1", "word:3", "char:9"])
def test_the_search_gives_the_containments_of_every_two(folder: Path, shingle: str) -> None:
    answers, sources = plagiarism.read(folder)
    assert plagiarism.containments(answers, sources, shingle) == [
        {task: twinset.compare(answer.text, text, shingle=shingle).left_in_right for task, text in sources.items()}
        for answer in answers
    ]


def test_answers_are_linked_by_the_share_that_a_source_holds(folder: Path) -> None:
    answers, sources = plagiarism.read(folder)
    exact = plagiarism.containments(answers, sources, plagiarism.SEARCHED)
    linked, none = {"own": 2, "any": 2}, {"own": 0, "any": 0}
    assert plagiarism.held(answers, sources, 0.5, exact) == {
        "differ": [], "non": none, "heavy": none, "light": linked, "cut": linked
    }  # fmt: skip
    nothing = [dict.fromkeys(sources, 0.0) for _ in answers]
    differ = plagiarism.held(answers, sources, 0.5, nothing)["differ"]
    assert differ == sorted([answer.file, answer.task] for answer in answers if answer.level >= 2)


def test_answers_are_linked_by_the_words_that_they_share(folder: Path) -> None:
    answers, sources = plagiarism.read(folder)
    linked = {"own": 2, "any": 2}
    none = {"own": 0, "any": 0}
    assert plagiarism.linked(answers, sources, 20) == {
        "differ": [], "non": none, "heavy": linked, "light": linked, "cut": linked
    }  # fmt: skip
    assert plagiarism.linked(answers, sources, 21)["heavy"] == none


def test_the_picture_shows_every_answer_and_the_cut(folder: Path, tmp_path: Path) -> None:
    found = plagiarism.study(folder)
    plagiarism.draw(found, tmp_path / "picture")
    assert (tmp_path / "picture.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    numbers = json.loads((tmp_path / "picture.json").read_text())
    assert [len(numbers["scores"][name]) for name in plagiarism.LEVELS] == [2, 2, 2, 2]
    assert numbers["words"].endswith("2 of 2 cut, 2 of 2 light, 2 of 2 heavy, 0 of 2 non.")


def test_a_folder_without_the_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"file_information\.csv is not there"):
        plagiarism.read(tmp_path)
