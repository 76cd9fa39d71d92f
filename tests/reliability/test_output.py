"""An output appears whole or not at all, replaces only when told to, and is never taken for a source."""

from __future__ import annotations

from pathlib import Path

import pytest

import twinset as library
from tests.reliability.command import STATE, acts, bytes_of, documents, struck, twinset, write_lines


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.jsonl", documents(60))


def test_an_output_that_exists_is_refused_and_untouched(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("precious")
    for words in ([], ["--force"]):  # what is refused with --force is not offered without
        line = twinset("dedup", source, "-o", out, *words).refused(str(out), "not a result of an earlier run")
        assert "--force" not in line
        assert [path.name for path in out.iterdir()] == ["mine.txt"]
        assert not Path(f"{out}{STATE}").exists()
    (out / "mine.txt").unlink()
    twinset("dedup", source, "-o", out).refused(str(out), "exists", "--force")
    assert twinset("dedup", source, "-o", out, "--force").code == 0


def test_an_earlier_result_is_replaced_whole(tmp_path: Path, source: Path) -> None:
    out, clean = tmp_path / "out", tmp_path / "clean"
    assert twinset("dedup", source, "-o", out, "--threshold", "0.5").code == 0
    (out / "mine.txt").write_text("left in a result")
    assert twinset("dedup", source, "-o", out, "--force").code == 0
    assert twinset("dedup", source, "-o", clean).code == 0
    assert bytes_of(out) == bytes_of(clean)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean", "in.jsonl", "out"]


def test_a_file_where_the_folder_should_be(tmp_path: Path, source: Path) -> None:
    (tmp_path / "out").write_text("precious")
    twinset("dedup", source, "-o", tmp_path / "out", "--force").refused("is a file")
    assert (tmp_path / "out").read_text() == "precious"


def test_an_output_that_holds_its_source_is_refused(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out"
    assert twinset("dedup", source, "-o", out).code == 0
    kept = out / "kept/in.jsonl"
    before = bytes_of(out)
    twinset("dedup", kept, "-o", out, "--force").refused("would be replaced", "in.jsonl")
    twinset("dedup", source, "--against", kept, "-o", out / "." / "kept" / "..", "--force").refused("would be replaced")
    assert bytes_of(out) == before
    table = tmp_path / "in.csv"
    table.write_text("text\none two three\none two three\n")
    twinset("pairs", table, "-o", table).refused("would be replaced")
    twinset("pairs", table, "-o", table, "--force").refused("would be replaced")
    assert table.read_text().startswith("text\n")


def test_a_run_killed_between_its_two_moves_resumes(tmp_path: Path, source: Path) -> None:
    """The details are in place, and the file of kept rows is not: the next run completes both."""
    out, whole = tmp_path / "clean.csv", tmp_path / "whole.csv"
    details = Path(f"{out}.details")
    assert twinset("dedup", source, "-o", whole, "--quiet").code == 0
    state = f"clean.csv{STATE}"
    (tmp_path / "list").mkdir()
    listed = acts(state, "dedup", source, "-o", tmp_path / "list" / "clean.csv")
    [moved] = [at for at, act in enumerate(listed, 1) if act.startswith("os.rename") and "/rows/kept/clean.csv" in act]
    assert struck("KILL", moved, state, "dedup", source, "-o", out).code == -9
    assert details.is_dir()
    assert not out.exists()
    again = twinset("dedup", source, "-o", out, "--json")
    assert again.summary["timings"]["resumed"] == ["candidates", "pairs", "sketches"]
    assert out.read_bytes() == whole.read_bytes()
    assert bytes_of(details) == bytes_of(Path(f"{whole}.details"))
    assert not (tmp_path / state).exists()


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    for number, row in enumerate(documents(24)):
        path = folder / ("deep/out" if number % 5 == 0 else ".") / f"{number:02d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(row["text"] + "\n")
    return folder


@pytest.mark.parametrize("name", ["out", "out [1]*"])
def test_an_output_inside_the_source_is_not_read(texts: Path, name: str) -> None:
    """And a folder elsewhere that happens to have the output's name is."""
    out = texts / name
    first = twinset("dedup", texts, "-o", out, "--copy", "--json")
    assert first.code == 0, first.err
    before = bytes_of(out)
    second = twinset("dedup", texts, "-o", out, "--copy", "--json", "--force")
    assert first.summary["documents"] == second.summary["documents"] == 24
    assert bytes_of(out) == before


def test_pairs_inside_the_source_are_not_read(texts: Path) -> None:
    out = texts / "pairs.csv"
    first = twinset("pairs", texts, "-o", out, "--json").summary
    assert first["documents"] == twinset("pairs", texts, "-o", out, "--json", "--force").summary["documents"] == 24


def test_a_file_that_exists_is_refused_and_untouched(tmp_path: Path, source: Path) -> None:
    """Pairs, a report, a drawing: whatever is written into a file."""
    result = tmp_path / "result"
    assert twinset("dedup", source, "-o", result, "--quiet").code == 0
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone.csv")
    (tmp_path / "folder.csv").mkdir()
    commands = {
        "pairs.csv": ["pairs", source, "-o"],
        "report.html": ["report", result, "-o"],
        "plan.svg": ["plan", "--plot"],
    }
    for name, words in commands.items():
        file = tmp_path / name
        file.write_text("precious")
        twinset(*words, file).refused(f"{file} exists", "--force")
        assert file.read_text() == "precious"
        done = twinset(*words, file, "--force")
        assert done.code == 0, done.err
        assert "precious" not in file.read_text("utf-8")
    twinset("pairs", source, "-o", tmp_path / "link.csv").refused("link.csv exists", "--force")
    twinset("pairs", source, "-o", tmp_path / "folder.csv", "--force").refused("folder.csv is a folder")
    with pytest.raises(library.OutputError, match=r"pairs\.csv exists; choose another output, or replace it"):
        library.find_pairs(["a", "b"], output=tmp_path / "pairs.csv")
    assert library.find_pairs(["a", "b"], output=tmp_path / "pairs.csv", force=True).pairs.num_rows == 0


def test_folders_on_the_way_are_made(tmp_path: Path, source: Path) -> None:
    assert twinset("dedup", source, "-o", tmp_path / "a" / "b" / "out").code == 0
    assert (tmp_path / "a/b/out/summary.json").exists()
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["out"]


def test_what_is_read_once_more_leaves_nothing_behind(tmp_path: Path) -> None:
    """Groups of a long table are laid down in a temporary folder, also for a report."""
    long, scratch = tmp_path / "long.csv", tmp_path / "scratch"
    long.write_text("who,what\n" + "".join(f"{who},{what}\n" for who in "ab" for what in "xyz"))
    assert twinset("dedup", long, "--group", "who", "--item", "what", "-o", tmp_path / "out").code == 0
    for words in (("report", tmp_path / "out", "-o", tmp_path / "out.html"), ("explain", tmp_path / "out", "a")):
        done = twinset(*words, scratch=scratch)
        assert (done.code, list(scratch.iterdir())) == (0, []), done.err


@pytest.mark.parametrize("words", [("dedup",), ("pairs",), ("trim",), ("passages",)])
@pytest.mark.parametrize("name", ["in.jsonl", "kept/"])
def test_a_way_through_a_folder_that_is_not_there_replaces_nothing(
    tmp_path: Path, words: tuple[str, ...], name: str
) -> None:
    """The name is that of the source, or of another folder, but only once the missing folder has been made."""
    source = write_lines(tmp_path / "in.jsonl", documents(5))
    (tmp_path / "kept").mkdir()
    before = source.read_bytes()
    out = f"{tmp_path}/gone/../{name}"
    twinset(*words, source, "-o", out).refused("there is no folder", "gone")
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "kept"]
