"""Have we run this story? Keep stories in an index, and query it with every new one."""

import json
import tempfile
from pathlib import Path

import twinset

NEWS = Path(__file__).parent / "news.jsonl"
TODAY = "2024-05-03"
SAME = 0.8


def stories() -> tuple[dict[str, str], dict[str, str]]:
    """Return the stories that have run and those that came in today: id → text."""
    rows = [json.loads(line) for line in NEWS.read_text("utf-8").splitlines()]
    run = {row["id"]: row["text"] for row in rows if row["date"] < TODAY}
    return run, {row["id"]: row["text"] for row in rows if row["date"] >= TODAY}


def main() -> None:
    """Add the old stories, query the index with today's, and add the new ones."""
    run, come = stories()
    with tempfile.TemporaryDirectory() as folder:
        # Planned for the minimum similarity of all queries: related stories, not only copies.
        with twinset.Index.create(Path(folder, "news.twinset"), threshold=0.5) as index:
            print(f"{index.add(run).added} stories have run")
            for name, text in come.items():
                nearest = index.query(text, threshold=0.5, k=1).to_pylist()
                if nearest and nearest[0]["similarity"] >= SAME:
                    print(f"{name}: yes, it is {nearest[0]['similarity']:.2f} like {nearest[0]['id']}")
                    continue
                for one in nearest:
                    print(f"{name}: no, but {one['query_in_document']:.0%} of it is in {one['id']}")
                if not nearest:
                    print(f"{name}: no")
                index.add([name], [text])

        with twinset.Index.open(Path(folder, "news.twinset"), read_only=True) as index:
            print(f"{len(index)} stories have run: {', '.join(index)}")


if __name__ == "__main__":
    main()
