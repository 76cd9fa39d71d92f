"""The pages of the repository: all in the navigation, all pictures in the gallery, every heading that is linked to."""

from __future__ import annotations

import doctest
import re
from itertools import pairwise
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest

from website import markdown, navigation
from website.markdown import headings, levelled, lines_of, with_links
from website.stage import BrokenLinkError, Stage

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = navigation.read(ROOT)
LISTED = [page for section in SECTIONS for page in section.pages]
WRITTEN = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN += sorted((ROOT / "benchmarks").rglob("*.md"), key=str)


@pytest.mark.parametrize("module", [markdown, navigation], ids=lambda module: module.__name__)
def test_examples_run(module: ModuleType) -> None:
    done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed


def test_every_page_is_in_the_navigation() -> None:
    files = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb"), *ROOT.glob("*.md")]
    found = {str(path.relative_to(ROOT).as_posix()) for path in files} - {"README.md", str(navigation.HOME)}
    listed = [str(page.source) for page in LISTED]
    assert sorted(listed) == sorted(set(listed)), "a page is listed twice"
    missing = sorted(found - set(listed))
    assert not missing, f"{navigation.FILE} lacks {', '.join(missing)}: add each with a title and one line on it"
    gone = sorted(name for name in listed if not name.startswith("api/") and not (ROOT / name).is_file())
    assert not gone, f"{navigation.FILE} lists {', '.join(gone)}, which do not exist"


@pytest.mark.parametrize("page", LISTED, ids=lambda page: str(page.source))
def test_a_page_has_a_short_title_and_one_line(page: navigation.Page) -> None:
    assert len(page.title) <= 36
    assert re.fullmatch(r"[A-Z0-9].{18,138}\.", page.about), page.about


def test_every_picture_is_in_the_gallery() -> None:
    gallery = ROOT / "docs" / "gallery.md"
    shown = set(re.findall(r"!\[[^\]]+\]\(([^)]+)\)", gallery.read_text("utf-8")))
    found = [path for folder in ("docs", "benchmarks/results/full") for path in (ROOT / folder).rglob("*.[ps][nv]g")]
    drawn = {path for path in found if path.suffix == ".svg" or not path.with_suffix(".svg").exists()}
    pictures = {(gallery.parent / name).read_bytes() for name in shown}
    missing = {path.relative_to(ROOT).as_posix() for path in drawn if path.read_bytes() not in pictures}
    assert not missing, f"docs/gallery.md does not show {', '.join(sorted(missing))}"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_somewhere_in_the_repository(page: Path) -> None:
    targets: list[str] = []
    with_links(page.read_text("utf-8"), lambda target: targets.append(target) or target)
    for target in targets:
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if anchor and file.suffix == ".md":
            known = {one for _, _, one in headings(file.read_text("utf-8"))}
            assert anchor in known, f"{page.relative_to(ROOT)} links to {target}"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small repository: two pages of its own, and the source of this one for the pages of the API."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "src").symlink_to(ROOT / "src")
    (tmp_path / "docs" / "navigation.toml").write_text(
        '[[section]]\ntitle = "One"\npages = [["docs/a.md", "A", "About a."]]\n', "utf-8"
    )
    (tmp_path / "docs" / "index.md").write_text("# Home\n\n[a](a.md#two-words)\n", "utf-8")
    (tmp_path / "docs" / "a.md").write_text("# A\n\n## Two words\n", "utf-8")
    (tmp_path / "run.py").write_text("print('```')\n", "utf-8")
    (tmp_path / "data.bin").write_bytes(b"\xff\x00")
    return tmp_path


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("b.md", "docs/a.md links to b.md: there is no such file"),
        ("index.md#nowhere", "docs/a.md links to index.md#nowhere: docs/index.md has no such heading"),
        ("#nowhere", "docs/a.md links to #nowhere: docs/a.md has no such heading"),
        ("../../b.md", "docs/a.md links to ../../b.md: there is no such file"),
        ("../README.md#speed", "docs/a.md links to ../README.md#speed: README.md has no such heading"),
    ],
)
def test_a_link_that_leads_nowhere_is_named(small: Path, tmp_path: Path, link: str, said: str) -> None:
    (small / "docs" / "a.md").write_text(f"# A\n\n## Two words\n\n[b]({link}) and ![p]({link})\n", "utf-8")
    with pytest.raises(BrokenLinkError) as raised:
        Stage(small, tmp_path / "pages").fill()
    assert str(raised.value).splitlines() == [said, said]


def test_what_pages_link_to_is_on_the_site(small: Path, tmp_path: Path) -> None:
    text = "# A\n\n## Two words\n\n[run](../run.py), [data](../data.bin), [all](..), [home](../README.md)\n"
    (small / "docs" / "a.md").write_text(text, "utf-8")
    pages = tmp_path / "pages"
    assert Stage(small, pages).fill() == 2
    shown = (pages / "a.md").read_text("utf-8")
    for place in re.findall(r"\]\(([^)]+)\)", shown):
        assert (pages / place).is_file(), place
    assert "exclude: true" in (pages / "source" / "run.py.md").read_text("utf-8")
    assert "````python\nprint('```')\n````" in (pages / "source" / "run.py.md").read_text("utf-8")
    assert (pages / "source" / "data.bin").read_bytes() == b"\xff\x00"
    assert "- [`run.py`](run.py.md)" in (pages / "source" / "index.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. a\n\n   b\n2. c\n", "1. a\n\n    b\n\n2. c\n"),
        ("1. a\n\n   | b |\n   |---|\n2. c\n", "1. a\n\n    | b |\n    |---|\n\n2. c\n"),
        ("- a\n  b\n- c\n", "- a\n    b\n- c\n"),
        ("1. a\n   - b\n   - c\n2. d\n", "1. a\n    - b\n    - c\n2. d\n"),
        ("a  b\n- c\n", "a  b\n- c\n"),
    ],
)
def test_lists_are_levelled(text: str, expected: str) -> None:
    assert levelled(text) == expected


def test_code_is_left_as_it_is() -> None:
    text = "```sh\n[a](b.md) \\\n  c\n```\n\n`[a](b.md)` [a](b.md) | x\\\n\n"
    text += "1. a\n\n   ```\n   [a](b.md)\n     x\n   ```\n"
    assert with_links(text, lambda target: "seen") == text.replace("` [a](b.md)", "` [a](seen)")
    assert levelled(text).splitlines() == [
        *("```sh", "[a](b.md) \\", "  c", "```", "", "`[a](b.md)` [a](b.md) | x  ", ""),
        *("1. a", "", "    ```", "    [a](b.md)", "      x", "    ```"),
    ]
    assert [code for _, code in lines_of("a\n~~~\n````\n```\n````\nb\n")] == [False, False, True, True, True, False]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_one_title_and_no_level_is_left_out(page: Path) -> None:
    levels = [level for level, _, _ in headings(page.read_text("utf-8"))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_sources_have_places_of_their_own() -> None:
    places = [navigation.place_of(navigation.HOME), *(page.place for page in LISTED)]
    assert len(places) == len(set(places))
    assert navigation.place_of(PurePosixPath("CHANGELOG.md")) == PurePosixPath("changes.md")
