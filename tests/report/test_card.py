"""The section of a data set card: true, always the same, safe to paste; and its command repeats the run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import datasets
import pytest
from markdown_it import MarkdownIt

import twinset
from tests import ready
from twinset.report.card.command import shell_word
from twinset.report.card.markdown import code, table
from twinset.schema import HASH_SCHEME

ROSE = "a rose is a rose is a rose in any garden of the town"
TEXTS = [ROSE, "something else", ROSE + " hall", "", ROSE]
WORDS: dict[str, Any] = {"shingle": "word:3", "threshold": 0.7}
NAUGHTY = [
    *("plain:0", "a|b", "a\\|b", "`", "``x`", "</code><script>alert(1)</script>", "&amp;", "two\nlines\n# head", " x "),
    *("", "http://a.example/", "*b*", "[l](x)", "\u202eevil", "\ud800", "\x1b[31m", "|---|", "名前", "a" * 300),
    *("<!--", "$x$", "a\tb"),
]  # fmt: skip


def rendered(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(text)


def cells(card: str, head: str) -> list[list[str]]:
    """The rows of the table whose first head this is, as plain texts."""
    [body] = re.findall(rf"<th>{re.escape(head)}</th>.*?<tbody>(.*?)</tbody>", rendered(card), re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [[unescape(re.sub(r"<[^>]*>", "", one)) for one in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows]


def lines(path: Path, texts: list[str] = TEXTS) -> Path:
    path.write_text("".join(json.dumps({"id": f"{path.stem}{at}", "text": one}) + "\n" for at, one in enumerate(texts)))
    return path


def last_block(card: str) -> str:
    [text] = re.findall(r"^```(?:sh|python)\n(.*)\n```$", card, re.DOTALL | re.MULTILINE)
    return text


# What it says


def test_counts_are_those_of_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines(Path("a.jsonl")), lines(Path("b.jsonl"), [ROSE, "another one"])
    done = twinset.dedup("a.jsonl", "b.jsonl", output="out", keep="longest", **WORDS)
    card = done.card()
    assert card.startswith(
        "## Deduplication\n\nOf 7 documents, 4 are kept and 3 removed as near-duplicates: each is at "
    )
    counts = {name: value for name, value, _ in cells(card, "")}
    names = {"documents": "documents", "kept": "kept", "removed": "removed", "clusters": "clusters", "empty": "empty"}
    assert {name: int(counts[name]) for name in names} == {name: done.summary[name] for name in names}
    digests = dict(
        zip(
            *twinset.open_result("out").recorded.table("sources").select(["path", "sha256"]).to_pydict().values(),
            strict=True,
        )
    )
    assert cells(card, "source") == [
        ["a.jsonl", "5", "3", "2", digests["a.jsonl"][:16]],
        ["b.jsonl", "2", "1", "1", digests["b.jsonl"][:16]],
    ]
    assert cells(card, "documents in a cluster") == [["4", "1", "3"]]
    assert cells(card, "largest clusters, by the kept document") == [["a2", "4", "0.9000"]]
    assert "Promised by the plan: 256 hashes" in card
    assert "recall 1.0000 (1 of 1 pair). Every document was compared" in card
    assert f"Twinset {twinset.__version__}, hash scheme {HASH_SCHEME}." in card
    options = dict(cells(card, "option"))
    assert options == {
        "--shingle": "word:3", "--threshold": "0.7", "--recall": "0.99", "--keep": "longest", "--cluster": "leader",
    }  # fmt: skip
    assert twinset.open_result("out").card() == card


def test_the_interval_of_a_sample_is_stated() -> None:
    texts = {
        f"{family}-{copy}": f"{family} {family} words of {family} {copy}" for family in range(300) for copy in "ab"
    }
    card = twinset.dedup(texts, shingle="word:1", threshold=0.6, audit=40).card()
    found = re.search(
        r"recall (\S+) \([\d,]+ of [\d,]+ pairs\); 95 % interval (\S+) to (\S+)\. 40 distinct documents, chosen", card
    )
    assert found
    assert float(found[2]) < float(found[1]) <= float(found[3])
    assert "was not audited" in twinset.dedup(texts, shingle="word:1", audit=0).card()


def test_splits_are_counted(tmp_path: Path) -> None:
    datasets.disable_progress_bars()
    whole = datasets.DatasetDict(
        train=datasets.Dataset.from_dict({"text": TEXTS}), test=datasets.Dataset.from_dict({"text": [ROSE, "new"]})
    )
    done = twinset.dedup(whole, **WORDS)
    assert cells(done.card(), "split") == [["train", "5", "3", "2"], ["test", "2", "1", "1"]]
    assert last_block(done.card()) == "twinset.dedup(data, shingle='word:3', threshold=0.7)"
    folder = tmp_path / "set"
    folder.mkdir()
    for name in ("a", "b", "c"):
        lines(folder / f"{name}.jsonl")
    splits = "  - {split: train, path: [a.jsonl, b.jsonl]}\n  - {split: test, path: c.jsonl}\n"
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: x\n  data_files:\n{splits}---\n")
    card = twinset.dedup(folder, no_id=True, output=tmp_path / "out", **WORDS).card()
    assert cells(card, "split") == [["train", "10", "4", "6"], ["test", "5", "1", "4"]]
    assert [row[1:4] for row in cells(card, "source")] == [["5", "3", "2"], ["5", "1", "4"], ["5", "1", "4"]]


def test_unreadable_rows_are_neither_kept_nor_removed(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        with lines(tmp_path / name).open("a") as file:
            file.write("{broken\n")
    card = twinset.dedup(tmp_path, on_error="skip", no_id=True, **WORDS).card()
    assert [row[1:4] for row in cells(card, "source")] == [["6", "3", "2"], ["6", "1", "4"]]
    assert "| unreadable | 2 | skipped |" in card


def test_many_sources_are_added_up(tmp_path: Path) -> None:
    for number in range(40):
        lines(tmp_path / f"{number:02}.jsonl", ["the same text", f"another {number}"])
    rows = cells(twinset.dedup(tmp_path, shingle="word:1").card(), "source")
    assert len(rows) == 31
    assert rows[-1] == ["10 other sources", "20", "10", "10", ""]


def test_it_depends_on_nothing_but_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cards = []
    for number, options in enumerate(({"threads": 1, "batch_bytes": 1024}, {"threads": 2, "memory": "600MB"})):
        folder = tmp_path / f"folder{number}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        lines(Path("in.jsonl"), [f"{text} {at // 2}" for at, text in enumerate(TEXTS * 30)])
        cards.append(twinset.dedup("in.jsonl", output="out", **WORDS, **options).card())
    assert cards[0] == cards[1]
    assert str(tmp_path) not in cards[0]


# Other results


def test_other_results_have_cards(tmp_path: Path) -> None:
    path, texts = lines(tmp_path / "in.jsonl"), dict(enumerate(TEXTS))
    pairs = twinset.find_pairs(path, output=f"{tmp_path}/pairs/", **WORDS)
    assert "Among 5 documents, the search found 3 pairs of near-duplicates. Nothing was removed." in pairs.card()
    trimmed = twinset.trim(path, least=4, output=tmp_path / "trimmed")
    words = trimmed.summary["words_cut"]
    assert f" words in 5 documents, {words} were cut: later copies of repeated passages." in trimmed.card()
    passages = twinset.find_passages(path, least=4, output=tmp_path / "passages")
    assert f"The search found {passages.summary['passages']} shared passages. In 3 of 5 documents" in passages.card()
    for name, result in (("pairs", pairs), ("trimmed", trimmed), ("passages", passages)):
        file = twinset.report(tmp_path / name, tmp_path / f"{name}.md", card=True)
        assert file.read_text("utf-8") == result.card()
        assert last_block(result.card()).startswith(f"twinset {name.replace('trimmed', 'trim')} {path}")
    assert "a list" not in twinset.dedup(texts, against=[["x y z"]], **WORDS).card()
    top = twinset.find_pairs(texts, shingle="word:1", top=2).card()
    assert "pairs, up to 2 for each. Nothing was removed." in top
    codes = twinset.dedup([1, 3, 255], codes="code", distance=1)
    assert cells(codes.card(), "largest clusters, by the kept code") == [["0", "2", "1 bit"]]
    assert "--shingle" not in codes.card()
    assert "| flagged | 2 | 40.0 % |" in twinset.dedup(texts, flag=True, **WORDS).card()
    contained = twinset.dedup(texts, contained=0.9, shingle="word:3").card()
    assert "--contained` | `0.9`" in contained
    assert "threshold" not in contained
    assert "clusters | 0 |" in twinset.dedup(["one", "two"]).card()


def test_what_has_no_card_is_refused(tmp_path: Path) -> None:
    with pytest.raises(twinset.OptionError, match="these pairs are estimates from sketches"):
        twinset.find_pairs(twinset.sketch(TEXTS)).card()
    done = twinset.dedup(TEXTS, **WORDS)
    for options, message in (
        ({"clusters": 3}, "clusters does not apply to card=True"),
        ({"texts": False}, "texts=False does not apply to card=True"),
        ({}, r"the card is '.*\.html'; allowed: a name that ends in \.md or \.markdown"),
    ):
        with pytest.raises(twinset.OptionError, match=message):
            done.report(tmp_path / "page.html", card=True, **options)
    assert done.report(tmp_path / "card.md", card=True).read_text("utf-8") == done.card()
    with pytest.raises(twinset.OutputError, match="exists"):
        done.report(tmp_path / "card.md", card=True)
    with pytest.raises(twinset.StateError, match="there is no such file"):
        twinset.report(tmp_path / "nothing", tmp_path / "c.md", card=True)


# Names


@pytest.mark.parametrize("name", NAUGHTY, ids=ascii)
def test_a_name_is_shown_as_it_is_and_as_nothing_else(name: str) -> None:
    cut = name if len(name) <= 100 else name[:99] + "…"
    expected = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in cut)
    for text in (f"before {code(name)} after\n", table(("head", "n"), [[code(name), "7"]])):
        html = rendered(text)
        [shown] = re.findall(r"<code>(.*?)</code>", html, re.DOTALL)
        assert unescape(shown) == expected
        assert html.count("<code>") == 1
        assert "<script" not in html
        assert ("<td style" in html and html.count("<td") == 2) == text.startswith("|")


def test_naughty_ids_and_files_go_into_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ids = [name for name in NAUGHTY if name != "\ud800"]
    card = twinset.dedup({name: f"{number // 2}" for number, name in enumerate(ids)}, shingle="word:1").card()
    assert cells(card, "largest clusters, by the kept document")[0][0] == "plain:0"
    assert "<script" not in rendered(card)
    for name in ("a|b.jsonl", "``.jsonl", "```sh\n# head.jsonl"):
        lines(Path(name))
    card = twinset.dedup("a|b.jsonl", "``.jsonl", "```sh\n# head.jsonl", no_id=True).card()
    assert [row[0] for row in cells(card, "source")] == ["a|b.jsonl", "``.jsonl", "```sh\\n# head.jsonl"]
    assert rendered(card).count("<h") == 3


@pytest.mark.parametrize("name", [one for one in NAUGHTY if one not in ("\ud800",)], ids=ascii)
def test_a_shell_reads_a_word_as_it_is(name: str) -> None:
    command = ["bash", "-c", f"printf %s {shell_word(name)}"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.decode() == name
    assert shell_word(os.fsdecode(b"\xff.txt")) == r"$'\xff.txt'"


# Again


@pytest.mark.parametrize(
    "words",
    [
        ["pairs", "a.jsonl", "--shingle", "word:3", "--threshold", "0.7", "--no-lowercase"],
        ["dedup", "a.jsonl", "my b.jsonl", "--no-id", "--keep", "longest", "--shingle", "char:4", "--seed", "7"],
        ["dedup", "a.jsonl", "--against", "my b.jsonl", "--shingle", "word:2", "--contained", "0.6", "--flag"],
        ["dedup", ".", "--include", "*.jsonl", "--exclude", "my*", "--text", "text", "--shingle", "word:2", "--bag"],
        ["trim", "a.jsonl", "--least", "4", "--everywhere", "--mark", "|'`"],
        ["passages", "a.jsonl", "my b.jsonl", "--no-id", "--least", "4"],
    ],
    ids=" ".join,
)
def test_the_command_repeats_the_run(words: list[str], tmp_path: Path) -> None:
    for name in ("a.jsonl", "my b.jsonl"):
        lines(tmp_path / name)
    path = {**os.environ, "PATH": f"{ready.folder()}{os.pathsep}{os.environ['PATH']}"}

    def call(*command: str) -> str:
        return subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True, check=True).stdout

    call("twinset", *words, "-o", "OUT/")
    card = call("twinset", "report", "OUT", "--card")
    shutil.move(tmp_path / "OUT", tmp_path.parent / f"{tmp_path.name}-first")
    call("bash", "-c", last_block(card))
    first, again = (
        json.loads((folder / "summary.json").read_text())
        for folder in (tmp_path.parent / f"{tmp_path.name}-first", tmp_path / "OUT")
    )
    assert first["files"] == again["files"]
    assert first["check"] == again["check"]
    assert call("twinset", "report", "OUT", "--card") == card


def test_the_call_in_python_repeats_the_run() -> None:
    for run in (
        twinset.dedup(TEXTS, keep="longest", lowercase=False, **WORDS),
        twinset.dedup(TEXTS, against=[["x"]], shingle="word:2"),
        twinset.find_pairs(TEXTS, n_bands=10, rows_per_band=3, shingle="char:3"),
    ):
        names = {"twinset": twinset, "data": TEXTS, "other": ["x"]}
        again = eval(last_block(run.card()), names)
        assert again.card() == run.card()
        assert again.pairs.equals(run.pairs)
    two = twinset.dedup(TEXTS, TEXTS, no_id=True, **WORDS).card()
    assert last_block(two) == "twinset.dedup(data_1, data_2, no_id=True, shingle='word:3', threshold=0.7)"
