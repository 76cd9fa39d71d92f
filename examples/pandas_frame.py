"""A pandas data frame in, a clean one out; any table with Arrow's stream interface does the same."""

from pathlib import Path

import pandas as pd

import twinset

NEWS = Path(__file__).parent / "news.jsonl"


def main() -> None:
    """Keep the newest of each cluster."""
    frame = pd.read_json(NEWS, lines=True, dtype=False)
    frame["letters"] = frame["text"].str.len()

    result = twinset.dedup(frame, keep="newest:date")
    clean = result.kept.to_pandas()
    print(clean[["id", "source", "date", "letters"]].to_string(index=False))

    reasons = result.removed.to_pandas()[["id", "because_of", "similarity"]]
    print(reasons.to_string(index=False))

    # The same frame with marks in place of removals: join the clusters to it.
    marked = frame.merge(result.clusters.to_pandas(), on="id")
    print(marked.groupby("cluster").size().sort_values(ascending=False).head(1).to_dict())


if __name__ == "__main__":
    main()
