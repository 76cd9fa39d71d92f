"""Make a collection with known near-copies: stories.jsonl, and truth.csv with the cluster of each story.

Usage: python stories.py [FOLDER]

The words come from `news.jsonl`, in random order. Of 600 stories 200 are copies of others, with up
to one word in twenty replaced, and belong to the cluster of their original. Another 100 are sequels: they begin with
60 to 80 % of another story and continue differently. They are not copies.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

NEWS = Path(__file__).parent / "news.jsonl"
STORIES, COPIES, SEQUELS, WORDS = 300, 200, 100, 150


def stories() -> list[tuple[str, str, str]]:
    """Return id, cluster and text of every story."""
    known = [word for line in NEWS.read_text("utf-8").splitlines() for word in json.loads(line)["text"].split()]
    chance = random.Random(3)

    def below(count: int) -> int:
        return int(chance.random() * count)

    def words(count: int) -> list[str]:
        return [known[below(len(known))] for _ in range(count)]

    texts = [words(WORDS) for _ in range(STORIES)]
    rows = [(f"story-{number:03}", f"story-{number:03}", text) for number, text in enumerate(texts)]
    for number in range(COPIES):
        of, replaced = below(STORIES), chance.random() * 0.05
        text = [words(1)[0] if chance.random() < replaced else word for word in texts[of]]
        rows.append((f"copy-{number:03}", f"story-{of:03}", text))
    for number in range(SEQUELS):
        taken = texts[below(STORIES)][: 90 + below(30)]
        rows.append((f"sequel-{number:03}", f"sequel-{number:03}", taken + words(WORDS - len(taken))))
    return [(name, cluster, " ".join(text)) for name, cluster, text in rows]


def write(folder: Path) -> None:
    """Write both files."""
    rows = stories()
    lines = [json.dumps({"id": name, "text": text}) for name, _, text in rows]
    (folder / "stories.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    truth = ["id,cluster", *(f"{name},{cluster}" for name, cluster, _ in rows)]
    (folder / "truth.csv").write_text("\n".join(truth) + "\n", "utf-8")
    print(f"{len(rows)} stories in stories.jsonl, their clusters in truth.csv")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            write(Path(scratch))
            print("give a folder to keep them")
