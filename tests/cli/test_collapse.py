"""``twinset collapse``: a ranking in, folded out, as `twinset.collapse` folds it."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import twinset
from tests.cli.conftest import Run

ROSE = "a rose is a rose is a rose in any garden of the town"


@pytest.fixture(scope="module")
def ranking() -> list[dict[str, Any]]:
    """Sixty results of some words; many are changed a little, in case or punctuation or by a word."""
    chance = random.Random(6)
    rows: list[dict[str, Any]] = []
    for number in range(60):
        words = [f"w{chance.randrange(200)}" for _ in range(chance.randrange(20))]
        if number % 2 and rows:
            words = chance.choice(rows)["body"].split()
            if words and number % 3:
                words[chance.randrange(len(words))] = "changed,"
        rows.append({"rank": number, "body": " ".join(words), "score": 1 - number / 100})
    return rows


def as_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def folded(shown: Any) -> list[tuple[int, int, list[tuple[int, float]]]]:
    return [(one.place, one.count, [(other.place, other.similarity) for other in one.folded]) for one in shown.groups]


def told(rows: list[dict[str, Any]]) -> list[tuple[int, int, list[tuple[int, float]]]]:
    return [
        (int(row["rank"]), int(row["count"]), [(one["place"], one["similarity"]) for one in row["folded"]])
        for row in rows
    ]


@pytest.mark.parametrize("threshold", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".json", ".parquet"])
def test_it_folds_as_the_function_does(
    run: Run, tmp_path: Path, ranking: list[dict[str, Any]], ending: str, threshold: float
) -> None:
    file = tmp_path / f"hits{ending}"
    if ending == ".csv":
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, ["rank", "body", "score"])
            writer.writeheader()
            writer.writerows(ranking)
    elif ending == ".parquet":
        import pyarrow as pa

        pq.write_table(pa.Table.from_pylist(ranking), file)
    else:
        file.write_text(as_lines(ranking) if ending == ".jsonl" else json.dumps(ranking, indent=2))
    expected = twinset.collapse(ranking, text="body", shingle="word:2", threshold=threshold)
    done = run("collapse", file, "--text", "body", "--shingle", "word:2", "--threshold", threshold)
    assert done.returncode == 0, done.stderr
    if ending == ".csv":
        found = [{**row, "folded": json.loads(row["folded"])} for row in csv.DictReader(io.StringIO(done.stdout))]
    else:
        found = [json.loads(line) for line in done.stdout.splitlines()]
    assert told(found) == folded(expected)
    for row in found:
        assert {name: str(row[name]) for name in ("body", "score")} == {
            name: str(ranking[int(row["rank"])][name]) for name in ("body", "score")
        }
    counts = f"{len(expected)} of 60 results shown, {60 - len(expected)} folded"
    assert done.stderr.splitlines()[-1] == counts
    assert 0 < len(expected) < 60


def test_lines_stay_as_they_came(run: Run, tmp_path: Path) -> None:
    """Numbers of any length, repeated keys, spaces and other scripts; the bytes up to the closing brace."""
    lines = [
        '{"n": 12345678901234567890123, "x": 1.50, "text": "' + ROSE + '" }',
        '{"text":"ein \\u00dcbel, 東京"  ,  "x": {"a": [1, {}]}, "e": 1e300}',
        '{"a": 1, "a": 2, "text": "' + ROSE.upper() + '"}',
    ]
    (tmp_path / "hits.jsonl").write_text("\n".join(lines), "utf-8")
    done = run("collapse", "hits.jsonl", "--quiet")
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f'{lines[0][:-1].rstrip()},"count":2,"folded":[{{"place":2,"similarity":1.0}}]}}',
        f'{lines[1][:-1].rstrip()},"count":1,"folded":[]}}',
    ]
    # Elements of an array are lines afterwards.
    spread = ",\n".join(one.replace(', "', ',\n  "') for one in lines)
    (tmp_path / "hits.json").write_text(f"[\n{spread}\n]", "utf-8")
    again = run("collapse", "hits.json", "--quiet").stdout.splitlines()
    assert len(again) == 2
    assert '"n": 12345678901234567890123,' in again[0]


def test_standard_input_and_pages(process: Run, tmp_path: Path) -> None:
    first, second = ({"text": ROSE, "page": 1}, {"text": ROSE + " hall", "page": 2})
    (tmp_path / "one.jsonl").write_text(as_lines([first, {"text": "other words", "page": 1}]))
    (tmp_path / "two.jsonl").write_text(as_lines([second]))
    pages = process("collapse", "one.jsonl", "two.jsonl", "--shingle", "word:2", "--quiet")
    rows = [json.loads(line) for line in pages.stdout.splitlines()]
    assert [(row["page"], row["count"], [one["place"] for one in row["folded"]]) for row in rows] == [
        (1, 2, [2]), (1, 1, [])
    ]  # fmt: skip
    piped = process("collapse", "-", "--shingle", "word:2", "--json", input=as_lines([first, second]))
    summary = json.loads(piped.stdout)
    assert (summary["results"], summary["shown"], summary["folded"], summary["skipped"]) == (2, 1, 1, 0)
    assert summary["found"][0]["count"] == 2
    table = process("collapse", "-", "--format", "csv", input="id,text\nx,one\ny,ONE\n")
    assert table.stdout.splitlines()[1] == '"x","one",2,"[{""place"":1,""similarity"":1.0}]"'


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson", ".csv", ".parquet"])
def test_outputs(run: Run, tmp_path: Path, ending: str) -> None:
    rows = [{"text": ROSE, "tags": ["a", "b"]}, {"text": "", "tags": []}, {"text": ROSE.upper(), "tags": None}]
    (tmp_path / "hits.jsonl").write_text(as_lines(rows))
    out = tmp_path / f"shown{ending}"
    assert run("collapse", "hits.jsonl", "-o", out).returncode == 0
    if ending == ".parquet":
        found = pq.read_table(out).to_pylist()
    elif ending == ".csv":
        with out.open() as file:
            found = [{**row, **{name: json.loads(row[name]) for name in row.keys() - {"text"}}}
                     for row in csv.DictReader(file)]  # fmt: skip
    else:
        found = [json.loads(line) for line in out.read_text().splitlines()]
    assert found == [
        {**rows[0], "count": 2, "folded": [{"place": 2, "similarity": 1.0}]},
        {**rows[1], "count": 1, "folded": []},
    ]
    before = out.read_bytes()
    refused = run("collapse", "hits.jsonl", "-o", out)
    assert (refused.returncode, out.read_bytes()) == (2, before)
    assert run("collapse", "hits.jsonl", "-o", out, "--force").returncode == 0
    assert out.read_bytes() == before


def test_unreadable_results_are_skipped_where_that_is_asked_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "hits.jsonl").write_text('{"text": "one"}\nnot json\n{"text": "ONE"}\n{"no": 1}\n')
    assert run("collapse", "hits.jsonl").returncode == 2
    done = run("collapse", "hits.jsonl", "--on-error", "skip")
    assert json.loads(done.stdout)["folded"] == [{"place": 1, "similarity": 1.0}]
    assert done.stderr.splitlines()[-1] == "1 of 2 results shown, 1 folded, 2 unreadable"


def test_text_files_and_files_without_rows(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, text in (("a.txt", ROSE), ("b.txt", ROSE.upper()), ("c.txt", "caf\xe9")):
        (folder / name).write_bytes(text.encode("latin-1"))
    rows = [json.loads(line) for line in run("collapse", folder).stdout.splitlines()]
    assert [(row["id"], row["text"], row["count"]) for row in rows] == [("a.txt", ROSE, 2), ("c.txt", "caf\ufffd", 1)]
    assert run("collapse", folder, "-o", "shown.parquet").returncode == 0
    assert pq.read_table(tmp_path / "shown.parquet")["text"].to_pylist() == [ROSE, "caf\ufffd"]
    (tmp_path / "none.csv").write_text("url,text\n")
    (tmp_path / "none.jsonl").write_text("")
    assert run("collapse", "none.csv").stdout == '"url","text","count","folded"\n'
    assert run("collapse", "none.jsonl").stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Missing argument 'SOURCE...'"),
        (("hits.jsonl", "-o", "shown.txt"), "its name must end in .jsonl, .ndjson, .csv or .parquet"),
        (("hits.jsonl", "-o", "hits.jsonl", "--force"), "hits.jsonl would be replaced, and hits.jsonl is read"),
        (("hits.jsonl", "--text", "body"), "hits.jsonl: there is no column 'body'; the columns are 'text'"),
        (("hits.jsonl", "--threshold", "2"), "--threshold is 2.0; allowed"),
        (("hits.jsonl", "--text", "a", "--text", "b"), "this command folds results by their texts"),
        (("counted.jsonl",), "collapse adds a column 'count', which already exists; rename it"),
        (("counted.csv",), "collapse adds a column 'folded', which already exists; rename it"),
        (("later.jsonl",), "later.jsonl: collapse adds a column 'folded', which already exists; rename it"),
        (("nowhere.jsonl",), "nowhere.jsonl: there is no such file or folder"),
    ],
)
def test_errors(run: Run, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "hits.jsonl").write_text(as_lines([{"text": ROSE}]))
    (tmp_path / "counted.jsonl").write_text(as_lines([{"text": ROSE, "count": 1}]))
    (tmp_path / "counted.csv").write_text("text,folded\nx,y\n")
    (tmp_path / "later.jsonl").write_text(as_lines([*[{"text": "x"}] * 200, {"text": "x", "folded": 1}]))
    done = run("collapse", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len([line for line in done.stderr.splitlines() if not line.startswith("reading:")]) == 1
    assert done.stdout == ""
