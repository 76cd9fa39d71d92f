"""Clean Parquet shards in a bucket: every near-duplicate across all shards is found, and clean shards are written.

Usage: python clean_a_bucket.py [SOURCE OUTPUT] [--text COLUMN] [--id COLUMN]      needs: pip install "twinset[remote]"

    python clean_a_bucket.py s3://news/pages/ s3://news/clean --text body --id url

SOURCE is a folder of shards, a pattern or one object; OUTPUT is a folder that does not exist yet. Both begin with s3://,
gs://, az:// or hf://, or are on this machine; credentials are found where the tools of the service find them. Without
SOURCE and OUTPUT the program cleans three shards that it makes in a temporary folder, by the same calls.
"""

import argparse
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import twinset

SHOWN = 5


def clean(source: str, output: str, columns: dict[str, str]) -> None:
    """List the pairs in one table beside the output, then write clean shards to the output."""
    found = twinset.find_pairs(source, output=f"{output.rstrip('/')}-pairs.parquet", **columns)
    print(f"documents: {found.summary['documents']:,}; pairs of near-duplicates: {found.summary['pairs']:,}")

    done = twinset.dedup(source, output=output, **columns)
    for row in done.removed.slice(0, SHOWN).to_pylist():
        print(f"{row['id']} is removed: {row['similarity']:.2f} like {row['because_of']}")
    summary = done.summary
    print(f"{summary['kept']:,} kept and {summary['removed']:,} removed; clean shards are in {output.rstrip('/')}/kept")


def make_shards(folder: Path) -> None:
    """Write three shards, with a copy at another address, and one in which a word was changed."""
    rose = "a rose is a rose is a rose in any garden of the town hall"
    ferry = "the ferry runs again from Monday, every hour from seven in the morning to ten at night, also on Fridays"
    pages = [
        {"example.org/rose": rose, "example.org/ferry": ferry},
        {"mirror.example/rose": f"{rose}!", "example.org/prices": "half the price for children up to twelve"},
        {"example.org/ferry-2": ferry.replace("Fridays", "Sundays")},
    ]
    folder.mkdir()
    for number, some in enumerate(pages):
        table = pa.table({"url": list(some), "body": list(some.values()), "length": list(map(len, some.values()))})
        pq.write_table(table, folder / f"{number}.parquet")


def main() -> None:
    """Clean the shards that are named, or some of our own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", metavar="SOURCE OUTPUT", help="folder of shards, and folder to write")
    parser.add_argument("--text", default="text", help="column with the text")
    parser.add_argument("--id", default="id", help="column with ids")
    given = parser.parse_args()
    if len(given.places) == 2:
        clean(*given.places, {"text": given.text, "id": given.id})
    elif given.places:
        parser.error("name a SOURCE and an OUTPUT, or neither")
    else:
        with tempfile.TemporaryDirectory() as folder:
            make_shards(Path(folder, "pages"))
            clean(f"{folder}/pages", f"{folder}/clean", {"text": "body", "id": "url"})


if __name__ == "__main__":
    main()
