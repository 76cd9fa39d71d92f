"""The card of a data set folder: read as `datasets` reads it, refused with a clear error where that is impossible."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.buckets import new_bucket
from tests.documents.reading import opened
from twinset.documents.sources import open_sources
from twinset.options import ReadOptions

FILES = (
    *("train-0.jsonl", "train-1.jsonl", "test.jsonl", "other.csv", "semi.csv", "lines.txt", "old.parquet"),
    *("data/a-0.jsonl", "data/a-1.jsonl", "data/deep/b.jsonl", "data/.hidden.jsonl", "data/__cache/x.jsonl"),
    *("data/x[1].jsonl", "de/one.csv", "de/two.csv"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    datasets.disable_progress_bars()
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "set"
    for name in FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [f"{name} row {number}" for number in range(2)]
        if name.endswith(".jsonl"):
            path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows), "utf-8")
        elif name.endswith(".parquet"):
            pq.write_table(pa.table({"text": rows}), path)
        else:
            path.write_text("\n".join(["text" if name.endswith(".csv") else "first", *rows]) + "\n", "utf-8")
    (root / "semi.csv").write_text("n;text\n1;one, two\n2;three, four\n", "utf-8")
    return root


def with_card(folder: Path, configs: str, before: str = "license: mit\n") -> Path:
    (folder / "README.md").write_text(f"---\n{before}configs:\n{configs}---\n# Card\n\nconfigs: of old\n", "utf-8")
    return folder


def read(folder: Path | str, scratch: Path = Path("scratch"), **options: Any) -> dict[str, list[str]]:
    """The texts of each split."""
    found: dict[str, list[str]] = {}
    for part in open_sources([str(folder)], ReadOptions.of(**options), scratch=scratch).parts:
        texts = found.setdefault(part.data_split, [])
        for chunk in part.chunks(2**20):
            texts += [one.as_py() for one in chunk.read().texts]
    return {split: [one.decode() if isinstance(one, bytes) else one for one in texts] for split, texts in found.items()}


TWO = "- config_name: {}\n  data_files: test.jsonl\n- config_name: de\n{}  data_files: data/a-*.jsonl\n"
CARDS = {
    "one file": ("- config_name: default\n  data_files: test.jsonl\n", None),
    "a list of files": ("- config_name: default\n  data_files: [train-1.jsonl, train-0.jsonl]\n", None),
    "splits": (
        "- config_name: any\n  data_files:\n  - split: train\n    path: train-*.jsonl\n"
        "  - split: test\n    path: test.jsonl\n",
        None,
    ),
    "several patterns": (
        "- config_name: x\n  data_files:\n  - split: some\n"
        "    path: ['data/a-?.jsonl', 'data/deep/*', './test.jsonl']\n",
        None,
    ),
    "two stars": ("- config_name: x\n  data_files: data/**\n", None),
    "stars in the middle": ("- config_name: x\n  data_files: '**/b.jsonl'\n", None),
    "a set of characters": ("- config_name: x\n  data_files: 'data/[ab]-[0-9].jsonl'\n", None),
    "hidden files by name": ("- config_name: x\n  data_files: data/.hidden.jsonl\n", None),
    "csv": ("- config_name: x\n  data_files: other.csv\n", None),
    "parquet": ("- config_name: x\n  data_files:\n  - {split: old, path: old.parquet}\n", None),
    "lines": ("- config_name: x\n  data_files: lines.txt\n", None),
    "the default": (TWO.format("en", "  default: true\n"), None),
    "the one named default": (TWO.format("default", ""), None),
    "a subset": (TWO.format("default", ""), "de"),
}


@pytest.mark.parametrize("name", CARDS)
def test_rows_and_splits_are_those_that_datasets_reads(folder: Path, name: str) -> None:
    configs, subset = CARDS[name]
    with_card(folder, configs)
    theirs = datasets.load_dataset(str(folder), subset)
    assert read(folder, subset=subset) == {str(split): rows["text"][:] for split, rows in theirs.items()}


def test_a_subset_may_be_a_folder(folder: Path) -> None:
    with_card(folder, "- config_name: x\n  data_dir: data\n")
    theirs = datasets.load_dataset(str(folder))["train"]["text"][:]
    assert read(folder) == {"all": theirs}
    with_card(folder, "- config_name: x\n  data_dir: data\n  data_files: a-*.jsonl\n")
    assert [text[:8] for text in read(folder)["train"]] == ["data/a-0"] * 2 + ["data/a-1"] * 2


def test_a_split_is_read_alone(folder: Path) -> None:
    with_card(folder, CARDS["splits"][0])
    assert read(folder, data_split="test") == {"test": ["test.jsonl row 0", "test.jsonl row 1"]}
    done = twinset.dedup(folder, data_split="train", output="out")
    assert sorted(path.name for path in Path("out/kept").rglob("*.jsonl")) == ["train-0.jsonl", "train-1.jsonl"]
    assert done.summary["input"]["splits"] == ["train", "train"]
    assert twinset.open_result("out").explain(f"{folder}/train-0.jsonl:0").state == "kept"


def test_a_file_of_two_splits_is_read_once(folder: Path) -> None:
    splits = "  - {split: train, path: '*.jsonl'}\n  - {split: test, path: [test.jsonl, old.parquet]}\n"
    with_card(folder, f"- config_name: x\n  data_files:\n{splits}")
    assert {split: len(texts) for split, texts in read(folder).items()} == {"train": 6, "test": 2}


def test_a_folder_without_subsets_is_read_as_before(folder: Path) -> None:
    for card in (
        "# Card\n",
        "---\nlicense: mit\n---\n",
        "---\nconfigs:\n- config_name: en\n---\n",
        "---\nconfigs: [\n",
    ):
        (folder / "README.md").write_text(card, "utf-8")
        names = {part.name for part in opened(str(folder), exclude=["semi.csv", "lines.txt"]).parts}
        assert f"{folder}/de/two.csv" in names
        assert f"{folder}/data/__cache/x.jsonl" in names


def test_a_pattern_reads_the_files_without_the_card(folder: Path) -> None:
    with_card(folder, CARDS["one file"][0])
    assert set(read(folder)) == {"train"}
    assert len(opened(f"{folder}/*.jsonl").parts) == 3


def test_include_and_exclude_choose_among_the_files_of_the_card(folder: Path) -> None:
    with_card(folder, CARDS["splits"][0])
    assert read(folder, exclude=["train-0*"]) == {
        "train": ["train-1.jsonl row 0", "train-1.jsonl row 1"],
        "test": ["test.jsonl row 0", "test.jsonl row 1"],
    }


def test_links_to_files_are_followed_as_in_the_cache_of_the_hub(folder: Path) -> None:
    blob = folder.parent / "blob"
    (folder / "test.jsonl").rename(blob)
    (folder / "test.jsonl").symlink_to(blob)
    with_card(folder, CARDS["one file"][0])
    assert read(folder) == {"train": ["test.jsonl row 0", "test.jsonl row 1"]}


def test_hidden_files_of_the_present_folder_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(with_card(folder, "- config_name: x\n  data_files: data/.hidden.jsonl\n"))
    (folder / ".top.jsonl").write_text('{"text": "on top"}\n')
    assert read(Path()) == {"train": ["data/.hidden.jsonl row 0", "data/.hidden.jsonl row 1"]}
    with_card(folder, "- config_name: x\n  data_files: .top.jsonl\n")
    assert read(Path()) == {"train": ["on top"]}
    assert read(Path(), exclude=["top.jsonl"]) == {"train": ["on top"]}


def test_results_below_the_folder_are_not_read(folder: Path) -> None:
    twinset.dedup(["one text"], output=folder / "data/out")
    with_card(folder, "- config_name: x\n  data_files: data/**\n")
    assert not any("out" in text for text in read(folder)["train"])


def test_the_card_chooses_only_for_its_own_side(folder: Path) -> None:
    with_card(folder, CARDS["the default"][0])
    rows = ["test.jsonl row 0", "data/a-0.jsonl row 1"]
    done = twinset.dedup(rows, against=[folder], shingle="word:1", threshold=1.0)
    assert done.kept["text"].to_pylist() == ["test.jsonl row 0"]
    other = folder.parent / "other"
    other.mkdir()
    (other / "seen.jsonl").write_text('{"text": "data/a-1.jsonl row 1"}\n', "utf-8")
    with_card(other, "- config_name: x\n  data_files: seen.jsonl\n")
    done = twinset.dedup(folder, against=[other], subset="de", data_split="train", shingle="word:1", threshold=1.0)
    assert done.removed["id"].to_pylist() == [f"{folder}/data/a-1.jsonl:1"]


def test_the_other_separator_must_be_named(folder: Path) -> None:
    with_card(folder, "- config_name: x\n  data_files: semi.csv\n  sep: ';'\n")
    with pytest.raises(twinset.OptionError, match=r"separates the fields of its CSV by ';'; add delimiter=';'"):
        read(folder)
    theirs = datasets.load_dataset(str(folder))
    assert read(folder, delimiter=";")["train"] == theirs["train"]["text"][:] == ["one, two", "three, four"]


ONE = "- config_name: x\n  data_files: {}\n"
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "several subsets": (
        TWO.format("en", ""), {}, "the card has the subsets 'en', 'de', and no default; choose one with subset=",
    ),
    "two defaults": (
        TWO.format("default", "  default: true\n"), {}, "the card has the subsets 'default', 'de', and 2 defaults",
    ),
    "an unknown subset": (CARDS["splits"][0], {"subset": "fr"}, "there is no subset 'fr'; the card has 'any'"),
    "an unknown split": (
        CARDS["splits"][0], {"data_split": "dev"}, "the subset 'any' has no split 'dev'; it has 'train', 'test'"
    ),
    "a missing file": (
        ONE.format("no-*.jsonl"), {},
        r"names 'no-\*.jsonl' for the split 'train', but there is no such file; complete the download",
    ),
    "a folder above": (ONE.format("../secret.jsonl"), {}, r"names '\.\./secret.jsonl'; allowed: paths"),
    "an absolute path": (ONE.format("/etc/passwd"), {}, "names '/etc/passwd'; allowed: paths"),
    "an address": (ONE.format("https://a.example/b.csv"), {}, "download other files"),
    "a folder elsewhere": ("- config_name: x\n  data_dir: ../..\n", {}, r"names '\.\./\.\.'; allowed: paths"),
    "no list": ("  en: test.jsonl\n", {}, "configs in its YAML are a dict; allowed: a list of subsets"),
    "the folder itself": (ONE.format("."), {}, r"names '\.'; allowed: paths and patterns of files"),
    "the folder, with a slash": (ONE.format("[test.jsonl, ./]"), {}, r"names '\./'; allowed: paths"),
    "a number": (ONE.format(7), {}, "names 7; allowed: paths"),
    "a mapping": (ONE.format("{train: test.jsonl}"), {}, "names a dict; allowed: paths"),
    "a split twice": (
        ONE.format("[{split: a, path: test.jsonl}, {split: a, path: other.csv}]"), {},
        "data_files of the subset 'x' are a list; allowed: a path, a list of paths, or a list of splits, each once",
    ),
    "no name": ("- config_name: [x]\n  data_files: test.jsonl\n", {}, "config_name is a list; allowed: a name"),
    "broken YAML": (ONE.format("[test.jsonl"), {}, r"README\.md: its YAML cannot be read \(line \d+\)"),
    "Python's tags": (ONE.format("!!python/object/apply:os.getcwd []"), {}, "its YAML cannot be read"),
    "nesting": (ONE.format("[" * 5000), {}, "its YAML cannot be read"),
    "stars together": (ONE.format("data/**.jsonl"), {}, r"names 'data/\*\*.jsonl', which is no pattern"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused(folder: Path, name: str) -> None:
    configs, options, message = REFUSED[name]
    with_card(folder, configs)
    with pytest.raises((twinset.SourceError, twinset.OptionError), match=message):
        read(folder, **options)


IN_A_BUCKET = ("splits", "several patterns", "two stars", "stars in the middle", "hidden files by name", "a subset")


def test_a_card_in_a_bucket_is_read_as_one_in_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with new_bucket(monkeypatch) as bucket:
        remote = bucket.put_folder(folder, "set")
        for configs, subset in (CARDS[name] for name in IN_A_BUCKET):
            bucket.put("set/README.md", with_card(folder, configs) / "README.md")
            found, here = read(remote, subset=subset), read(folder, subset=subset)
            assert found == here
            assert list(found) == list(here)
        for configs, options, message in (REFUSED[name] for name in ("an unknown split", "stars together")):
            bucket.put("set/README.md", with_card(folder, configs) / "README.md")
            with pytest.raises((twinset.SourceError, twinset.OptionError), match=message) as raised:
                read(remote, **options)
            assert str(raised.value).startswith(remote)
        bucket.put("set/README.md", with_card(folder, CARDS["splits"][0]) / "README.md")
        assert read(remote, exclude=["train-0*"])["train"] == ["train-1.jsonl row 0", "train-1.jsonl row 1"]
        bucket.gateway.forget()
        found = read(remote, scratch=Path("again"), data_split="test")
        assert found == {"test": ["test.jsonl row 0", "test.jsonl row 1"]}
        fetched = {line.split()[1].rpartition(b"/")[2] for line in bucket.gateway.requests if line.startswith(b"GET")}
        assert {name for name in fetched if b"." in name} == {b"README.md", b"test.jsonl"}
        bucket.put("set/README.md", b"# Card")
        for given in (remote, f"{remote}/test.jsonl", f"{remote}/*.jsonl"):
            with pytest.raises(twinset.OptionError, match=r"^subset=.* chooses from the folder of a data set, by its"):
                twinset.find_pairs(given, subset="any")


def test_lists_that_refer_to_each_other_do_no_harm(folder: Path) -> None:
    names = [f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 9)}]\n" for level in range(1, 40)]
    with_card(folder, "- config_name: x\n  data_files: *l39\n", "l0: &l0 x\n" + "".join(names))
    with pytest.raises(twinset.SourceError, match="the card names a list; allowed: paths"):
        read(folder)


@pytest.mark.parametrize("option", ["subset", "data_split"])
def test_a_choice_needs_the_folder_of_a_data_set(folder: Path, option: str) -> None:
    for given in (folder, folder / "test.jsonl", ["a text"], pa.table({"text": ["a"]}), f"{folder}/*.jsonl"):
        with pytest.raises(
            twinset.OptionError, match=f"^{option}=.* chooses from the folder of a data set, by its card"
        ):
            twinset.find_pairs(given, **{option: "test"})


def test_without_the_package_the_error_says_what_to_install(folder: Path) -> None:
    with_card(folder, CARDS["one file"][0])
    program = (
        "import sys; sys.modules['yaml'] = None; from twinset.cli import main; sys.exit(main(['pairs', sys.argv[1]]))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'this card says which files to read, and the package PyYAML is required: pip install "PyYAML"' in done.stderr
    (folder / "README.md").write_text("---\nlicense: mit\n---\n", "utf-8")
    words = [str(folder), "--include", "test.jsonl"]
    plain = program.replace("[1]", "[1:]").replace("['pairs', sys.argv[1:]]", "['pairs', *sys.argv[1:]]")
    assert subprocess.run([sys.executable, "-c", plain, *words], capture_output=True, check=False).returncode == 0
