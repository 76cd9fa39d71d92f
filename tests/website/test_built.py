"""The built site: every link and anchor leads somewhere, nothing comes from elsewhere, the search knows all pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from website import navigation

ROOT = Path(__file__).resolve().parents[2]
LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
NO_PROSE = ("code", "pre", "script", "style", "svg", "button", "h1", "h2", "h3", "h4")
SECTIONS = navigation.read(ROOT)
PLACES = [navigation.place_of(navigation.HOME), *(page.place for section in SECTIONS for page in section.pages)]


class Links(HTMLParser):
    """What a page links to and loads, the anchors it has, and its prose: the text outside of code and headings."""

    def __init__(self) -> None:
        super().__init__()
        self.prose: list[str] = []
        self._inside: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._inside += [tag] if tag in ("article", *NO_PROSE) else []
        if values.get("id"):
            self.anchors.add(str(values["id"]))
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        if values.get(LOADING.get(tag, "")) and values.get("rel") not in ("prev", "next", "canonical", "describedby"):
            self.loaded.append(str(values[LOADING[tag]]))


    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            del self._inside[self._inside.index(tag) :]

    def handle_data(self, data: str) -> None:
        if self._inside == ["article"]:
            self.prose += data.splitlines()


@cache
def read(page: Path) -> Links:
    found = Links()
    found.feed(page.read_text("utf-8"))
    return found


def pages(site: Path) -> list[Path]:
    """Every page but the one for missing pages, whose links begin at the root of a server."""
    return [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]


def test_only_a_site_is_replaced(clone: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("mine")
    done = subprocess.run(
        [sys.executable, "-m", "website", str(tmp_path)], cwd=clone, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{tmp_path} is not empty, and not a site built earlier; name another folder\n"
    assert note.read_text() == "mine"


def test_every_page_of_the_navigation_is_built(site: Path) -> None:
    for place in PLACES:
        assert (site / place.with_suffix(".html")).is_file(), place


def test_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    wrong = []
    for page in pages(site):
        for link in read(page).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path not in ("", ".") else page
            anchor = unquote(parts.fragment)
            if not target.is_file():
                wrong.append(f"{page.relative_to(site)}: {link}: no such file")
            elif anchor and target.suffix == ".html" and anchor not in read(target).anchors:
                wrong.append(f"{page.relative_to(site)}: {link}: no such anchor")
    assert wrong == []


def test_no_markdown_is_left_over(site: Path) -> None:
    """The generator's parser understood each page as code hosts do."""
    for place in PLACES:
        found = read(site / place.with_suffix(".html")).prose
        assert len(found) > 5
        left = [line for line in found if re.search(r"`|\*\*|\]\(|\\$|^ *(\||[-*] |\d+\. \S|#+ )", line)]
        assert left == [], f"{place}: {left[:3]}"


def test_whatever_a_page_loads_is_in_the_folder(site: Path) -> None:
    for page in pages(site):
        for address in read(page).loaded:
            parts = urlsplit(address)
            assert not parts.scheme + parts.netloc, f"{page.relative_to(site)} loads {address}"
            assert (page.parent / unquote(parts.path)).is_file(), f"{page.relative_to(site)} loads {address}"


def test_the_search_has_the_words_of_every_page(site: Path) -> None:
    items = json.loads((site / "search.json").read_text("utf-8"))["items"]
    found: dict[str, str] = {}
    for item in items:
        place = item["location"].split("#")[0]
        found[place] = f"{found.get(place, '')} {item['title']} {re.sub('<[^>]*>', '', item['text'])}"
    assert set(found) == {str(place.with_suffix(".html")) for place in PLACES}, "sources are not searched"
    for place in PLACES:
        words = set(re.findall(r"\b[a-z]{7,}\b", prose((site / place).read_text("utf-8"))))
        known = set(re.findall(r"\b[a-z]{7,}\b", found[str(place.with_suffix(".html"))]))
        assert len(words) > 10
        assert len(words - known) <= len(words) / 50, f"{place}: the search lacks {sorted(words - known)[:10]}"


def prose(text: str) -> str:
    """The words that a reader sees: no addresses, no texts that stand for pictures, no languages of code."""
    return re.sub(r"!\[[^\]]*\]\([^)]*\)|(?<=\])\([^)]*\)|^ *```\w*", " ", text, flags=re.MULTILINE)


def test_the_search_opens_from_a_file_and_from_a_server(site: Path) -> None:
    script = (site / "search.js").read_text("utf-8")
    assert json.loads(script[script.index("{") : script.rindex("}") + 1]) == json.loads(
        (site / "search.json").read_text("utf-8")
    )


def test_llms_txt_lists_every_page_with_a_line(site: Path) -> None:
    title, summary, _, *rest = (site / "llms.txt").read_text("utf-8").split("\n\n")
    assert title == "# Twinset"
    assert summary.startswith("> Twinset finds near-duplicate")
    assert [part[3:] for part in rest[::2]] == [section.title for section in SECTIONS]
    lines = [line for part in rest[1::2] for line in part.strip().splitlines()]
    listed = [re.fullmatch(r"- \[([^\]]+)\]\(([^)]+)\): (.{20,}[.?])", line) for line in lines]
    assert all(listed), [line for line, match in zip(lines, listed, strict=True) if not match]
    assert [PurePosixPath(match[2]) for match in listed if match] == PLACES[1:]


def test_the_markdown_of_pages_leads_from_one_to_another(site: Path) -> None:
    whole = (site / "llms-full.txt").read_text("utf-8")
    for place in PLACES:
        text = (site / place).read_text("utf-8")
        assert text.startswith("# ")
        assert text.strip() in whole
        for target in re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", text):
            assert (site / place.parent / target).exists(), f"{place} links to {target}"


def test_the_page_for_missing_pages_is_ours(clone: Path, site: Path) -> None:
    assert (site / "404.html").read_bytes() == (clone / "website" / "404.html").read_bytes()
