"""``python -m website [FOLDER]`` builds the site into `site/`, or another folder."""

from __future__ import annotations

import sys
from pathlib import Path

from website.build import BuildError, build
from website.stage import BrokenLinkError

ROOT = Path(__file__).resolve().parents[1]


def main(words: list[str]) -> int:
    """Build the site; broken links are named, and fail."""
    folder = Path(words[0]) if words else ROOT / "site"
    try:
        pages = build(ROOT, folder)
    except (BrokenLinkError, BuildError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{pages} pages: {folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
