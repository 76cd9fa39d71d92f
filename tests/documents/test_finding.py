"""Which files are found, in which order, under which ids, and where their kept rows go."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from tests import components
from tests.documents.reading import opened, read_all, write_all
from twinset.documents.compressed import split_codec
from twinset.documents.output_names import components_of, distinct_names
from twinset.errors import OptionError, SourceError


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")


def test_a_folder_of_texts(tmp_path: Path) -> None:
    fill(tmp_path, "b.txt", "a/z.md", "a/b/c", "a-1.rst", ".hidden.txt", ".git/config", "B.txt")
    os.symlink(tmp_path / "b.txt", tmp_path / "link.txt")
    os.symlink(tmp_path / "a", tmp_path / "linked")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\0\0")
    sources = opened(tmp_path)
    (part,) = sources.parts
    assert (part.format, part.path, part.name) == ("text", tmp_path, tmp_path.as_posix())
    rows = read_all(sources)
    assert rows.ids == ["B.txt", "a-1.rst", "a/b/c", "a/z.md", "b.txt"]
    assert rows.texts[2] == b"text of a/b/c"
    assert sources.skipped == [
        (f"{tmp_path}/{name}", reason)
        for name, reason in (
            ("picture.png", "a binary file"),
            (".git/", "hidden"),
            (".hidden.txt", "hidden"),
            ("link.txt", "a symbolic link"),
            ("linked", "a symbolic link"),
        )
    ]
    write_all(sources, tmp_path / ".out", lambda part, row: row != 0, batch_bytes=20, copy=True)
    assert (tmp_path / ".out/kept.txt").read_text() == "a-1.rst\na/b/c\na/z.md\nb.txt\n"
    assert (tmp_path / ".out/kept/a/b/c").read_text() == "text of a/b/c"
    assert not (tmp_path / ".out/kept/B.txt").exists()
    assert part.describe()["documents"] == 5


def test_what_include_and_exclude_leave_out_is_not_listed_as_hidden(tmp_path: Path) -> None:
    fill(tmp_path, "b.txt", ".hidden.txt", ".git/config", "sub/.cache/a")
    os.symlink(tmp_path / "b.txt", tmp_path / "link.md")
    skipped = opened(tmp_path, include=("*.txt",)).skipped
    assert skipped == [((tmp_path / ".hidden.txt").as_posix(), "hidden")]
    skipped = opened(tmp_path, exclude=(".git", "*.md", "sub")).skipped
    assert skipped == [((tmp_path / ".hidden.txt").as_posix(), "hidden")]


def test_utf_16_among_other_texts_is_to_be_converted(tmp_path: Path) -> None:
    fill(tmp_path / "in", "a.txt")
    (tmp_path / "in/b.txt").write_bytes("some words".encode("utf-16"))
    for source in (tmp_path / "in", f"{tmp_path}/in/*.txt"):
        ((name, reason),) = opened(source).skipped
        assert name.endswith("/b.txt")
        assert reason.startswith("looks like UTF-16; convert it to utf-8, or leave it out with --exclude")
    (tmp_path / "in/a.txt").unlink()
    for source in (tmp_path / "in", f"{tmp_path}/in/*.txt"):
        with pytest.raises(SourceError, match=r"no documents in .*texts look like UTF-16: name it with encoding="):
            opened(source)
    with pytest.raises(SourceError, match=r"not a text: looks like UTF-16; name it with encoding="):
        opened(tmp_path / "in/b.txt")


def test_without_copy_there_is_only_the_list(tmp_path: Path) -> None:
    fill(tmp_path / "in", "a.txt", "new\nline.txt", '"quoted".txt')
    write_all(opened(tmp_path / "in"), tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["kept.txt"]
    assert (tmp_path / "out/kept.txt").read_text() == '"\\"quoted\\".txt"\na.txt\n"new\\nline.txt"\n'


def test_abort_leaves_nothing(tmp_path: Path) -> None:
    fill(tmp_path / "in", "a.txt")
    (tmp_path / "b.jsonl").write_bytes(b'{"text":"a"}\n')
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "c.parquet")
    for part in opened(tmp_path / "in", tmp_path / "b.jsonl", tmp_path / "c.parquet").parts:
        writer = part.open_writer(tmp_path / "out", copy=True)
        for chunk in part.chunks(2**20):
            block = chunk.read(whole=True)
            writer.write(block, block.texts.is_valid().to_numpy(zero_copy_only=False))
        writer.abort()
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("include", "exclude", "found"),
    [
        (["*.txt"], [], ["a.txt", "d/b.txt", "d/e/c.txt"]),
        (["d/*"], [], ["d/b.txt", "d/e/c.txt", "d/x.md"]),
        ([], ["*.txt"], ["d/x.md"]),
        ([], ["d"], ["a.txt"]),
        ([], ["d/e/"], ["a.txt", "d/b.txt", "d/x.md"]),
        (["**/*.txt"], ["c.*"], ["a.txt", "d/b.txt"]),
        (["?.txt", "x.md"], ["d/b.txt"], ["a.txt", "d/e/c.txt", "d/x.md"]),
    ],
)
def test_include_and_exclude(tmp_path: Path, include: list[str], exclude: list[str], found: list[str]) -> None:
    fill(tmp_path, "a.txt", "d/b.txt", "d/e/c.txt", "d/x.md")
    assert read_all(opened(tmp_path, include=tuple(include), exclude=tuple(exclude))).ids == found


def test_a_folder_of_tables(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.jsonl").write_bytes(b'{"text":"b"}\n')
    (tmp_path / "sub/a.csv").write_bytes(b"text\na\n")
    pq.write_table(pa.table({"text": ["p"]}), tmp_path / "a.parquet")
    fill(tmp_path, ".notes.txt")
    sources = opened(tmp_path)
    assert [part.format for part in sources.parts] == ["parquet", "jsonl", "csv"]
    assert [str(part.kept_name) for part in sources.parts] == ["a.parquet", "b.jsonl", "sub/a.csv"]
    assert {part.source for part in sources.parts} == {0}
    fill(tmp_path, "notes.md")
    sources = opened(tmp_path)
    assert read_all(sources).ids == ["b.jsonl", "notes.md", "sub/a.csv"]
    assert "--include '*.parquet'" in sources.skipped[0][1]
    assert len(opened(tmp_path, exclude=("*.md",)).parts) == 3


def test_markers_beside_tables(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["p"]}), tmp_path / "part-0.parquet")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    sources = opened(tmp_path)
    assert read_all(sources).texts == [b"p"]
    assert sources.skipped == [((tmp_path / "_SUCCESS").as_posix(), "a marker file of a table")]


def test_lines_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_bytes(b"1\n2\n")
    (tmp_path / "sub/b.txt").write_bytes(b"3\n")
    sources = opened(tmp_path, lines=True)
    assert [part.format for part in sources.parts] == ["lines", "lines"]
    assert read_all(sources).ids == [f"{tmp_path}/a.txt:0", f"{tmp_path}/a.txt:1", f"{tmp_path}/sub/b.txt:0"]
    assert [str(part.kept_name) for part in sources.parts] == ["a.txt", "sub/b.txt"]


def test_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, "x/b.txt", "x/a.txt", "y/a.txt", "x/[1].txt")
    (tmp_path / "x/c.bin").write_bytes(b"\0")
    monkeypatch.chdir(tmp_path)
    sources = opened("*/*.*")
    assert read_all(sources).ids == ["x/[1].txt", "x/a.txt", "x/b.txt", "y/a.txt"]
    assert sources.skipped == [("x/c.bin", "a binary file")]
    assert read_all(opened("x/[1].txt")).ids == ["x/[1].txt"]
    assert read_all(opened("**/a.txt")).ids == ["x/a.txt", "y/a.txt"]
    with pytest.raises(SourceError, match=r"\*\.nothing: no file matches this pattern"):
        opened("*.nothing")


def test_texts_given_one_by_one_are_one_part(tmp_path: Path) -> None:
    fill(tmp_path, "a.txt", "b.txt", "c.txt")
    (tmp_path / "m.jsonl").write_bytes(b'{"text":"m"}\n')
    names = [tmp_path / name for name in ("b.txt", "a.txt", "m.jsonl", "c.txt")]
    sources = opened(*names)
    assert [part.format for part in sources.parts] == ["text", "jsonl", "text"]
    assert [part.source for part in sources.parts] == [0, 2, 3]
    block = next(iter(sources.parts[0].chunks(2**20))).read()
    assert block.sources is not None
    assert block.sources.tolist() == [0, 1]
    assert block.ids.to_pylist() == [names[0].as_posix(), names[1].as_posix()]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("missing.txt", "no such file or folder"),
        ("some text that is not a path", "no such file or folder"),
        ("ftp://news/a.jsonl", "no source begins like this; an address begins with s3://"),
        ("nul\0byte", "NUL"),
        ("x" * 5000, "no such file or folder"),
        (42, "an int cannot be read"),
        (None, "a NoneType cannot be read"),
    ],
)
def test_what_is_no_source(given: object, says: str) -> None:
    with pytest.raises(SourceError, match=says):
        opened(given)


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no documents in this folder: looked for text files, \.jsonl"):
        opened(tmp_path)
    (tmp_path / "a.bin").write_bytes(b"\0")
    with pytest.raises(SourceError, match="all its files are binary"):
        opened(tmp_path)
    with pytest.raises(SourceError, match="not a text: a binary file"):
        opened(tmp_path / "a.bin")
    fill(tmp_path, "a.txt")
    with pytest.raises(SourceError, match=r"include=\['\*\.md'\]"):
        opened(tmp_path, include=("*.md",))
    with pytest.raises(SourceError, match="no source"):
        opened()
    (tmp_path / "w.txt").write_bytes("wide".encode("utf-16"))
    with pytest.raises(SourceError, match='encoding="utf-16'):
        opened(tmp_path / "w.txt")
    (tmp_path / "p.parquet.gz").write_bytes(b"")
    (tmp_path / "v.npy.gz").write_bytes(b"")
    for name in ("p.parquet.gz", "v.npy.gz"):
        with pytest.raises(SourceError, match="need random access, which gzip does not allow; decompress it first"):
            opened(tmp_path / name)


def test_texts_have_no_columns(tmp_path: Path) -> None:
    fill(tmp_path, "a.txt")
    for words in ({"by": "lang"}, {"id": "key"}, {"by": "lang", "lines": True}):
        with pytest.raises(OptionError, match="text files have none"):
            opened(tmp_path, **words)


def test_equal_names_keep_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("one/data", "two/data", "three"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.jsonl").write_bytes(b'{"text":"a"}\n')
    fill(tmp_path, "three/b.jsonl")
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    sources = opened(
        "../one/data/a.jsonl", "../two/data/a.jsonl", "../three/a.jsonl", "../three/b.jsonl", on_error="skip"
    )
    names = [str(part.kept_name) for part in sources.parts]
    assert names == ["one/data/a.jsonl", "two/data/a.jsonl", "three/a.jsonl", "b.jsonl"]
    assert str(opened("../one/data/a.jsonl").parts[0].kept_name) == "a.jsonl"
    twice = opened("../one/data/a.jsonl", "../one/data/a.jsonl")
    first, second = (part.kept_name for part in twice.parts)
    assert (first.name, second.name) == ("a.jsonl", "a-2.jsonl")


def test_folders_with_equal_names_inside(tmp_path: Path) -> None:
    fill(tmp_path, "old/x.txt", "old/y.txt", "new/x.txt", "new/z.txt")
    sources = opened(tmp_path / "old", tmp_path / "new")
    assert read_all(sources).ids == ["old/x.txt", "y.txt", "new/x.txt", "z.txt"]
    write_all(sources, tmp_path / "out", copy=True)
    assert (tmp_path / "out/kept/old/x.txt").read_text() == "text of old/x.txt"
    assert (tmp_path / "out/kept/new/x.txt").read_text() == "text of new/x.txt"
    # The same folder twice has every id twice, which is for the caller to refuse.
    again = read_all(opened(tmp_path / "old", tmp_path / "old"))
    assert len(again.ids) == 4
    assert len(set(again.ids)) == 2


def test_hostile_ids_name_no_files(tmp_path: Path) -> None:
    path = tmp_path / "in" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(
        b'{"text":"a","id":"../../evil"}\n{"text":"b","id":"/etc/passwd"}\n{"text":"c","id":"a\\u0000b"}\n'
    )
    sources = opened(path)
    assert read_all(sources).ids == ["../../evil", "/etc/passwd", "a\0b"]
    write_all(sources, tmp_path / "out")
    written = sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file())
    assert written == ["in/a.jsonl", "out/kept/a.jsonl"]


NAMES = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=4)


@given(st.lists(st.lists(NAMES | st.just(".."), min_size=1, max_size=4).map("/".join), min_size=1, max_size=8))
def test_names_stay_inside_and_differ(paths: list[str]) -> None:
    files = [(components_of("/home/" + path) or ("home",), 1) for path in paths]
    names = distinct_names(files)
    assert len(set(names)) == len(names)
    for name in names:
        assert not name.is_absolute()
        assert ".." not in name.parts


def test_a_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    try:
        with open(odd, "wb") as file:
            file.write(b"text")
    except OSError:
        components.skip_without("a file system with names that are not UTF-8")
    sources = opened(tmp_path)
    assert read_all(sources).ids == ["caf\\udce9.txt"]
    write_all(sources, tmp_path / "out", copy=True)
    assert os.listdir(os.fsencode(tmp_path / "out/kept")) == [b"caf\xe9.txt"]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of a run, and the state of one that was stopped."""
    folder = tmp_path_factory.mktemp("made")
    twinset.dedup(["one text of some words", "another"], output=str(folder / "out"), audit=0)
    fill(folder, "out.twinset-state/lock", "out.twinset-state/names")
    return folder


def test_what_twinset_wrote_is_no_document(tmp_path: Path, result: Path) -> None:
    fill(tmp_path, "a.txt", "d/b.txt", "x.twinset-state/notes.txt", "e/summary.json", "plain.twinset")
    for place in (tmp_path, tmp_path / "d"):
        shutil.copytree(result, place, dirs_exist_ok=True)
    with twinset.Index.create(tmp_path / "news.twinset") as index:
        index.add(["a"], ["some words"])
    sources = opened(tmp_path)
    assert read_all(sources).ids == ["a.txt", "d/b.txt", "e/summary.json", "plain.twinset", "x.twinset-state/notes.txt"]
    found = {name.removeprefix(f"{tmp_path}/"): reason.split(";")[0] for name, reason in sources.skipped}
    made, stopped = "the result of an earlier run", "the state of a run that was interrupted or is still running"
    assert found == {
        "d/out/": made,
        "d/out.twinset-state/": stopped,
        "out/": made,
        "out.twinset-state/": stopped,
        "news.twinset": "an index",
    }
    assert sources.skipped == opened(tmp_path).skipped
    assert len(opened(tmp_path, exclude=("out", "out.twinset-state")).skipped) == 1


def test_results_of_passages_and_trim_are_no_documents(tmp_path: Path) -> None:
    fill(tmp_path, "a.txt", "b.txt")
    twinset.find_passages(tmp_path, output=str(tmp_path / "found/"))
    twinset.find_passages(tmp_path, output=tmp_path / "found.csv")
    twinset.trim(tmp_path, output=tmp_path / "trimmed")
    sources = opened(tmp_path)
    assert read_all(sources).ids == ["a.txt", "b.txt"]
    tables, made = "the tables of an earlier run", "the result of an earlier run; to read the kept documents, name its"
    assert sources.skipped == [
        (f"{tmp_path}/found/", tables),
        (f"{tmp_path}/found.csv", "the passages of an earlier run; to read them, name the file"),
        (f"{tmp_path}/found.csv.details/", tables),
        (f"{tmp_path}/trimmed/", f"{made} subfolder kept"),
    ]
    assert opened(f"{tmp_path}/*").skipped[:1] == [(f"{tmp_path}/found.csv", sources.skipped[1][1])]
    with pytest.raises(SourceError, match="this is the tables of an earlier run"):
        opened(tmp_path / "found")


def test_results_among_tables_and_patterns(tmp_path: Path, result: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text":"a"}\n')
    shutil.copytree(result / "out", tmp_path / "out")
    (tmp_path / "out/kept/in.jsonl").write_text('{"text":"a"}\n')
    assert [part.format for part in opened(tmp_path).parts] == ["jsonl"]
    sources = opened(f"{tmp_path}/**/*.jsonl")
    assert [part.name for part in sources.parts] == [(tmp_path / "in.jsonl").as_posix()]
    assert [name for name, _ in sources.skipped] == [f"{tmp_path}/out/"]
    for named in (tmp_path / "out/kept", f"{tmp_path}/out/kept/*.jsonl"):
        assert "jsonl" in [part.format for part in opened(named, include=("*.jsonl",)).parts]
    with pytest.raises(SourceError, match="this is the result of an earlier run; to read the kept"):
        opened(tmp_path / "out")


@pytest.mark.parametrize("text", ['[{"text": "a"}]', '\ufeff {"text": "a"}\n{"text": "b"}\n'])
def test_a_json_file_is_rows_where_it_is_named_and_a_text_in_a_folder(tmp_path: Path, text: str) -> None:
    fill(tmp_path, "words.json")
    assert read_all(opened(tmp_path / "words.json")).texts == [b"text of words.json"]
    (tmp_path / "rows.json").write_text(text, "utf-8")
    assert read_all(opened(tmp_path / "rows.json")).texts[0] == b"a"
    assert len(read_all(opened(tmp_path)).ids) == 2
    assert len(read_all(opened(f"{tmp_path}/*.json")).ids) == 2
    assert read_all(opened(tmp_path, format="json", include=("rows.json",))).texts[0] == b"a"


def test_a_json_file_of_neither_rows_nor_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{\n  "data": []\n}\n')
    with pytest.raises(SourceError, match=r'neither a JSON array nor JSON lines.* format="text"'):
        opened(tmp_path / "one.json")
    assert read_all(opened(tmp_path / "one.json", format="text")).texts == [b'{\n  "data": []\n}\n']


def test_an_ending_alone_is_a_name() -> None:
    assert split_codec(".gz") == (".gz", None)
    assert split_codec("a.GZ") == ("a", "gzip")
