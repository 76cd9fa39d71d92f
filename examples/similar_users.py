"""Find similar users in a table of ratings, one row per rating, and show what they have in common.

Usage: python similar_users.py [TABLE]      a .csv, .parquet, … with the columns user, movie and rating
"""

import sys
from pathlib import Path

import twinset


def main(table: Path) -> None:
    """Print pairs of similar users, and the movies that they share."""
    words = {"group": "user", "item": "movie", "threshold": 0.5}
    found = twinset.find_pairs(table, **words)
    print(f"{found.summary['documents']} users, {len(found.pairs)} pairs that share at least half of their movies")
    for pair in sorted(found.pairs.to_pylist(), key=lambda one: -one["similarity"]):
        print(f"  {pair['left']} and {pair['right']}: {pair['similarity']:.2f}")
    print("of those who are alike one is enough:")
    done = twinset.dedup(table, keep="longest", **words)
    for one in done.removed.to_pylist():
        why = done.explain(one["id"]).explanation
        print(f"  {one['id']} is like {one['because_of']}: both have {', '.join(sorted(why.shared))}")
    print(f"{done.kept.num_rows} rows of {done.summary['kept']} users are left")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("ratings.csv"))
