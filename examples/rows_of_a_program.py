"""Clean rows that a program makes one by one: they need not fit in memory, and may be nested."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import twinset

NEWS = Path(__file__).parent / "news.jsonl"


def chats() -> Iterator[dict[str, Any]]:
    """Yield a chat about each story; two sources may use the same id."""
    for line in NEWS.read_text(encoding="utf-8").splitlines():
        story = json.loads(line)
        question = {"role": "user", "content": story["text"]}
        yield {"id": story["source"], "about": {"date": story["date"]}, "messages": [question]}


def main() -> None:
    """Keep the newest chat of each cluster."""
    result = twinset.dedup(chats(), text="messages", keep="newest:about.date")
    print(result.summary["repeated_ids"], "rows repeat an id, so rows are named by their position")
    for removed in result.removed.select(["id", "because_of"]).to_pylist():
        print(f"row {removed['id']} was removed because of row {removed['because_of']}")


if __name__ == "__main__":
    main()
