"""Copied answers and their sources: the short answers of Clough and Stevenson, whose folder is given.

`python -m benchmarks.plagiarism FOLDER` measures and prints; with `--write` the figures go to
results/plagiarism.json, the table to docs/clough-stevenson.md and its picture to docs/figures.

A score is the containment of an answer in a source, exact, as the containment search reports it:
`twinset.find_pairs(answers, against=sources, contained=…)`. A rule is one cut of the scores for two classes, three cuts
for four: at least so much is a near copy, at least so much a light revision, and so on. The best cuts are those with
most answers of the training part right, each in the middle between two neighbouring scores.

An answer is linked to a source by the containment search if the source holds at least that share of it, and by
`twinset.find_passages` if they share a run of at least so many words.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import twinset
from benchmarks.measure import BenchmarkError, Setting, say
from twinset.textbook.passages import maximal_runs
from twinset.textbook.words import normalize, tokens

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "results" / "plagiarism.json"
PAGE = HERE.parent / "docs" / "clough-stevenson.md"
PICTURE = PAGE.parent / "figures" / "containment"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
BEGIN_SEARCH, END_SEARCH = "<!-- search -->", "<!-- /search -->"
BEGIN_PASSAGES, END_PASSAGES = "<!-- passages -->", "<!-- /passages -->"
LEAST = (5, 8, 12, 20)  # words of a run
LEVELS = ("non", "heavy", "light", "cut")  # by how much of the answer is copied
SHINGLES = ("word:1", "word:2", "word:3", "word:4", "word:5", "char:5", "char:7", "char:9", "char:12")
PRINTED = ("word:3", "char:9")  # named before looking: the usual ones for short texts
SEARCHED = "char:9"
SHARES = ("0.1", "0.167", "0.3", "0.5")  # of an answer; the second is the best cut of two classes
LOWEST = 1e-6  # less than one shingle of any answer
GOAL = 0.95


@dataclass(frozen=True)
class Answer:
    """An answer: its file, the letter of its task, the writer, and how much of it is copied (0 to 3)."""

    file: str
    task: str
    writer: str
    level: int
    text: str


@dataclass(frozen=True)
class Example:
    """What a rule sees of an answer, and what it is to say."""

    score: float
    label: int


def read(folder: Path) -> tuple[list[Answer], dict[str, str]]:
    """The answers, and the source text of each task."""
    listing = folder / "file_information.csv"
    if not listing.exists():
        raise BenchmarkError(f"{listing} is not there; give the folder that holds it")
    answers, sources = [], {}
    with listing.open(newline="", encoding="latin-1") as lines:
        for row in csv.DictReader(lines):
            text = (folder / row["File"]).read_text("latin-1")
            if row["Category"] == "orig":
                sources[row["Task"]] = text
            else:
                level = LEVELS.index(row["Category"])
                answers.append(Answer(row["File"], row["Task"], row["File"][:4], level, text))
    return answers, sources


def containments(answers: Sequence[Answer], sources: dict[str, str], shingle: str) -> list[dict[str, float]]:
    """For each answer the share of its shingles that is in each source.

    The search has so low a limit that a source which it does not report has no shingle of the answer.
    """
    found = found_shares(answers, sources, shingle, LOWEST, exact=True)
    return [{task: found.get((answer.file, task), 0.0) for task in sources} for answer in answers]


def found_shares(
    answers: Sequence[Answer], sources: dict[str, str], shingle: str, least: float, **options: Any
) -> dict[tuple[str, str], float]:
    """Answers and the sources that hold at least the share `least` of them, with this share."""
    texts = {answer.file: answer.text for answer in answers}
    found = twinset.find_pairs(texts, against=sources, contained=least, shingle=shingle, **options).pairs
    columns = (found[name].to_pylist() for name in ("left", "right", "left_in_right"))
    return {(file, task): share for file, task, share in zip(*columns, strict=True) if share >= least}


def best_cuts(examples: Sequence[Example], classes: int) -> list[float]:
    """The ascending cuts that put most examples into their class; class c begins at cut c.

    Sorted by score, the examples fall into consecutive runs, one a class. `right[c]` is the most that can be right when
    the examples seen so far end in class c, and `where[c]` the places of the cuts for it.
    """
    ordered = sorted(examples, key=lambda one: one.score)
    right, where = [0] * classes, [[0] * c for c in range(classes)]
    for place, one in enumerate(ordered):
        tied = place > 0 and ordered[place - 1].score == one.score
        for level in range(1, classes):
            # Equal scores cannot be distinguished, so no cut goes between them.
            if not tied and right[level - 1] > right[level]:
                right[level], where[level] = right[level - 1], [*where[level - 1], place]
        right[one.label] += 1
    most = max(range(classes), key=lambda level: right[level])
    places = where[most] + [len(ordered)] * (classes - 1 - most)
    return [_between(ordered, place) for place in places]


def _between(ordered: Sequence[Example], place: int) -> float:
    if place == 0:
        return float("-inf")
    if place == len(ordered):
        return float("inf")
    return (ordered[place - 1].score + ordered[place].score) / 2


def predict(score: float, cuts: Sequence[float]) -> int:
    """Return the class of a score, by the cuts."""
    return sum(score >= cut for cut in cuts)


def accuracy(examples: Sequence[Example], cuts: Sequence[float]) -> float:
    return sum(predict(one.score, cuts) == one.label for one in examples) / len(examples)


def cross_validated(
    tables: Sequence[Sequence[Example]], folds: Sequence[Hashable], classes: int
) -> tuple[float, list[int]]:
    """Return the accuracy of rules fitted without the fold of an example, and the predicted classes.

    Given several tables of scores, the rule takes the one that is best on the training part.
    """
    predicted = [0] * len(folds)
    for fold in sorted(set(folds), key=str):
        out = [place for place, one in enumerate(folds) if one == fold]
        rest = [place for place, one in enumerate(folds) if one != fold]
        trained = []
        for table in tables:
            seen = [table[place] for place in rest]
            cuts = best_cuts(seen, classes)
            trained.append((accuracy(seen, cuts), cuts, table))
        _, cuts, table = max(trained, key=lambda one: one[0])
        for place in out:
            predicted[place] = predict(table[place].score, cuts)
    right = sum(one == tables[0][place].label for place, one in enumerate(predicted))
    return right / len(folds), predicted


FOLDS: dict[str, Callable[[Answer], Hashable]] = {
    "answer": lambda answer: answer.file,
    "writer": lambda answer: answer.writer,
    "task": lambda answer: answer.task,
}
WAYS: dict[str, tuple[int, Callable[[Answer], int]]] = {
    "two": (2, lambda answer: int(answer.level > 0)),
    "four": (4, lambda answer: answer.level),
}


def study(folder: Path) -> dict[str, Any]:
    """Every figure of the page."""
    answers, sources = read(folder)
    scores = {shingle: containments(answers, sources, shingle) for shingle in SHINGLES}
    result: dict[str, Any] = {
        "answers": {name: sum(answer.level == level for answer in answers) for level, name in enumerate(LEVELS)},
        "shingles": {},
    }
    for shingle, found in scores.items():
        result["shingles"][shingle] = {"ranked": _ranked(answers, found), **_rules(answers, [found])}
    result["chosen in each fold"] = _rules(answers, list(scores.values()))
    confusion = _examples(answers, scores["char:9"], lambda answer: answer.level)
    _, said = cross_validated([confusion], [answer.file for answer in answers], 4)
    result["scores"] = {
        name: sorted(one.score for one in confusion if one.label == level) for level, name in enumerate(LEVELS)
    }
    result["search"] = {least: held(answers, sources, float(least), scores[SEARCHED]) for least in SHARES}
    result["passages"] = {str(least): linked(answers, sources, least) for least in LEAST}
    verdicts = Counter((answer.level, one) for answer, one in zip(answers, said, strict=True))
    result["confusion"] = [[verdicts[true, given] for given in range(4)] for true in range(4)]
    return result


def held(
    answers: Sequence[Answer], sources: dict[str, str], least: float, exact: Sequence[dict[str, float]]
) -> dict[str, Any]:
    """For each category: answers of which the source of their task holds enough, and any source.

    The search is the usual one, with its usual recall. `differ` lists answers and sources that it misses, or reports
    although the exact share is less.
    """
    links = set(found_shares(answers, sources, SEARCHED, least))
    shares = zip(answers, exact, strict=True)
    right = {(answer.file, task) for answer, row in shares for task, share in row.items() if share >= least}
    return {"differ": sorted(map(list, links ^ right)), **_linked(answers, links)}


def linked(answers: Sequence[Answer], sources: dict[str, str], least: int) -> dict[str, Any]:
    """For each category: answers that share a passage with the source of their task, and with any source.

    `differ` lists answers and sources that share a run by the definition and are not linked, or the other way round.
    """
    texts = {answer.file: answer.text for answer in answers}
    found = twinset.find_passages(texts, against=sources, least=least).passages
    links = set(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True))
    words = {task: tokens(normalize(text)) for task, text in sources.items()}
    result: dict[str, Any] = {"differ": [], **_linked(answers, links)}
    for answer in answers:
        mine = tokens(normalize(answer.text))
        for task, theirs in words.items():
            if bool(maximal_runs(mine, theirs, least)) != ((answer.file, task) in links):
                result["differ"].append([answer.file, task])
    return result


def _linked(answers: Sequence[Answer], links: set[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """For each category the answers that are linked to the source of their task, and to any source."""
    anywhere = {file for file, _ in links}
    result = {}
    for level, name in enumerate(LEVELS):
        chosen = [answer for answer in answers if answer.level == level]
        own = sum((answer.file, answer.task) in links for answer in chosen)
        result[name] = {"own": own, "any": sum(answer.file in anywhere for answer in chosen)}
    return result


def _ranked(answers: Sequence[Answer], found: Sequence[dict[str, float]]) -> dict[str, Any]:
    """How many copied answers are contained in their own source more than in any other, and which are not."""
    copied = [(answer, shares) for answer, shares in zip(answers, found, strict=True) if answer.level]
    missed = [
        answer.file
        for answer, shares in copied
        if any(share >= shares[answer.task] for task, share in shares.items() if task != answer.task)
    ]
    return {"copied": len(copied), "first": len(copied) - len(missed), "missed": missed}


def _examples(
    answers: Sequence[Answer], found: Sequence[dict[str, float]], label: Callable[[Answer], int]
) -> list[Example]:
    """The score of an answer is its containment in whichever source holds most of it: nobody says which that is."""
    return [Example(max(shares.values()), label(answer)) for answer, shares in zip(answers, found, strict=True)]


def _rules(answers: Sequence[Answer], scores: Sequence[Sequence[dict[str, float]]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for way, (classes, label) in WAYS.items():
        tables = [_examples(answers, found, label) for found in scores]
        figures: dict[str, Any] = {}
        if len(tables) == 1:
            cuts = best_cuts(tables[0], classes)
            figures = {"cuts": cuts, "on itself": accuracy(tables[0], cuts)}
        for name, fold in FOLDS.items():
            figures[name], _ = cross_validated(tables, [fold(answer) for answer in answers], classes)
        result[way] = figures
    return result


def measure(setting: Setting) -> dict[str, Any]:
    if setting.clough is None:
        say("  skipped: give the folder of clough_stevenson with --clough")
        return {}
    return study(setting.clough)


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    lines = []
    for shingle in PRINTED:
        ranked = result["shingles"][shingle]["ranked"]
        figure = f"{ranked['first']} of {ranked['copied']}"
        met = ranked["first"] >= GOAL * ranked["copied"]
        lines.append((f"own source is first of five by {shingle}", f"≥ {GOAL:.0%} of copied answers", figure, met))
    if "search" in result:  # figures of an earlier version have none
        wrong = sum(len(one["differ"]) for one in result["search"].values())
        lines.append(("answers that an article holds are found by --contained", "all", f"{wrong} differ", not wrong))
    if "passages" in result:
        wrong = len(result["passages"]["8"]["differ"])
        what = "answers with a run of 8 words of a source are linked to it"
        lines.append((what, "all", f"{wrong} differ", not wrong))
    return lines


def table(result: dict[str, Any]) -> str:
    lines = [
        "| shingle | own source first of five | two-way, fitted | by answer | by writer | by task |"
        " four-way, fitted | by answer | by writer | by task |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    names = ("on itself", *FOLDS)
    for shingle, one in result["shingles"].items():
        ranked = one["ranked"]
        cells = [f"{one[way][name]:.1%}" for way in WAYS for name in names]
        lines.append(f"| `{shingle}` | {ranked['first']} of {ranked['copied']} | {' | '.join(cells)} |")
    chosen = result["chosen in each fold"]
    cells = [f"{chosen[way][name]:.1%}" if name in FOLDS else "" for way in WAYS for name in names]
    lines.append(f"| chosen in each fold | | {' | '.join(cells)} |")
    return "\n".join(lines)


def confusion_table(result: dict[str, Any]) -> str:
    lines = ["| | predicted " + " | predicted ".join(reversed(LEVELS)) + " |", "|---|" + "---:|" * len(LEVELS)]
    for level in reversed(range(len(LEVELS))):
        counts = reversed(result["confusion"][level])
        lines.append(f"| {LEVELS[level]} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def section(result: dict[str, Any]) -> str:
    """Return the text between the marks of the page."""
    heading = "Four-way by `char:9`, each answer classified by a rule fitted without it:"
    return f"\n{table(result)}\n\n{heading}\n\n{confusion_table(result)}\n"


def search_section(result: dict[str, Any]) -> str:
    """Return the text between the marks of the part on the search."""
    return _links_table("--contained", result["search"], result["answers"])


def passages_section(result: dict[str, Any]) -> str:
    """Return the text between the marks of the part on passages."""
    return _links_table("--least", result["passages"], result["answers"])


def _links_table(option: str, links: dict[str, Any], counts: dict[str, int]) -> str:
    copied = [name for name in reversed(LEVELS) if name != "non"]
    head = "".join(f" {name} |" for name in copied)
    lines = [
        f"| `{option}` |{head} copied | non | non, to any article |",
        "|---:|" + "---:|" * (len(copied) + 3),
    ]
    for least, one in links.items():
        cells = [f"{one[name]['own']} of {counts[name]}" for name in copied]
        linked_copies, copies = sum(one[name]["own"] for name in copied), sum(counts[name] for name in copied)
        share = f"{linked_copies} of {copies} ({linked_copies / copies:.0%})"
        honest = [f"{one['non'][which]} of {counts['non']}" for which in ("own", "any")]
        lines.append(f"| {least} | {' | '.join([*cells, share, *honest])} |")
    return "\n" + "\n".join(lines) + "\n"


def words(result: dict[str, Any]) -> str:
    """Describe the figure in words."""
    (copied,) = result["shingles"]["char:9"]["two"]["cuts"]
    shares = {name: sum(score >= copied for score in scores) for name, scores in result["scores"].items()}
    said = ", ".join(f"{shares[name]} of {result['answers'][name]} {name}" for name in reversed(LEVELS))
    return f"At least {copied:.3f} of an answer is in an article for {said}."


def draw(result: dict[str, Any], place: Path) -> None:
    """Draw for each category the share of answers by minimum containment, with the best cut of two classes."""
    from twinset.report.plots import curve_figure

    curves = {}
    for name in reversed(LEVELS):
        scores = result["scores"][name]
        steps = [(0.0, 1.0)]
        for rank, score in enumerate(scores):
            steps += [(score, 1 - rank / len(scores)), (score, 1 - (rank + 1) / len(scores))]
        curves[name] = [*steps, (1.0, steps[-1][1])]
    (copied,) = result["shingles"]["char:9"]["two"]["cuts"]
    for ending in (".svg", ".png"):
        curve_figure(
            curves,
            place.with_name(place.name + ending),
            x="containment in the article that holds most of the answer, char:9",
            y="share of answers with at least that",
            title="How much of an answer is copied",
            vline={f"called copied from {copied:.3f} on": copied},
            x_range=(0, 1),
            y_range=(0, 1.02),
        )
    numbers = {"scores": result["scores"], "cut": copied, "words": words(result)}
    place.with_name(place.name + ".json").write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plagiarism", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the short answers and file_information.csv")
    parser.add_argument("--write", action="store_true", help=f"write {FIGURES.name} and the table of {PAGE.name}")
    arguments = parser.parse_args()
    result = study(arguments.folder)
    print(section(result))
    print(search_section(result))
    print(passages_section(result))
    for shingle in PRINTED:
        one = result["shingles"][shingle]
        print(shingle, one["ranked"]["missed"], {way: one[way]["cuts"] for way in WAYS})
    if arguments.write:
        draw(result, PICTURE)
        FIGURES.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
        page = PAGE.read_text("utf-8")
        for begin, end, text in (
            (BEGIN, END, section(result)),
            (BEGIN_SEARCH, END_SEARCH, search_section(result)),
            (BEGIN_PASSAGES, END_PASSAGES, passages_section(result)),
        ):
            head, rest = page.split(begin)
            page = f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}"
        PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
