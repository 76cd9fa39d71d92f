"""Find mirror sites in a crawl: hosts whose pages are near-duplicates of each other's, under other navigation.

    python mirror_sites.py                 in a generated crawl
    python mirror_sites.py CRAWL.warc.gz   in yours

Needs ``pip install "twinset[html]"``.
"""

import argparse
import gzip
import random
import tempfile
from pathlib import Path

import twinset

WORDS = ["river", "town", "bridge", "market", "harbour", "winter", "council", "school", "garden", "museum", "station"]
SITES = {
    "daily.example": ["Front page", "Local", "Sports", "Letters", "Archive", "Weather", "Subscribe"],
    "mirror.example": ["Start", "All stories", "By date", "By author", "Contact"],
    "cooking.example": ["Recipes", "Soups", "Bread", "Cakes", "Kitchen", "About"],
}


def article(number: int) -> str:
    """An article of 120 words; each number has another."""
    draw = random.Random(f"article {number}")
    words = [f"{draw.choice(WORDS)}{draw.randrange(100)}" for _ in range(120)]
    return " ".join(words)


def page(site: str, text: str) -> str:
    """The article below the navigation of a site."""
    menu = "".join(f'<li><a href="/{at}">{name} of {site}</a></li>' for at, name in enumerate(4 * SITES[site]))
    return (
        f"<!DOCTYPE html><html><head><meta charset=utf-8><title>{site}</title></head><body><nav><ul>{menu}</ul></nav>"
        f"<main><p>{text}</p></main><footer>{site}, all rights reserved</footer></body></html>"
    )


def record(url: str, body: bytes, kind: str = "text/html") -> bytes:
    """A WARC record: the answer of a server."""
    answer = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode() + body
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:example:{url}>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(answer)}\r\n\r\n"
    )
    return head.encode() + answer + b"\r\n\r\n"


def crawl() -> list[tuple[str, str]]:
    """Pages with their addresses: 40 articles of a newspaper, 30 of them also on a mirror, and 20 recipes."""
    made = [("daily.example", number) for number in range(40)]
    made += [("mirror.example", number) for number in range(30)]
    made += [("cooking.example", number) for number in range(100, 120)]
    return [(f"https://{site}/{number}.html", page(site, article(number))) for site, number in made]


def write_crawl(place: Path) -> None:
    """Write the pages, and a picture, to a WARC file."""
    records = [record(url, text.encode()) for url, text in crawl()]
    records.append(record("https://daily.example/logo.png", b"\x89PNG", "image/png"))
    place.write_bytes(b"".join(map(gzip.compress, records)))


def write_pages(folder: Path) -> None:
    """Write the pages as files, a folder for each site."""
    for url, text in crawl():
        path = folder / url.removeprefix("https://")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main() -> None:
    """Print the pairs of hosts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crawl", type=Path, nargs="?")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        place = arguments.crawl
        if place is None:
            place = Path(made, "crawl.warc.gz")
            write_crawl(place)
        found = twinset.find_pairs(place, html=True, hosts=True)
        for row in found.hosts.to_pylist():
            pages = f"{row['left']} ({row['left_pages']} pages) and {row['right']} ({row['right_pages']} pages)"
            print(f"{row['share']:6.1%}  {row['pairs']} near-duplicate pairs: {pages}")


if __name__ == "__main__":
    main()
