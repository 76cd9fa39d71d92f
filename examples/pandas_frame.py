"""Clean a pandas data frame; any table with Arrow's stream interface works in the same way."""

from pathlib import Path

import pandas as pd

import twinset

NEWS = Path(__file__).parent / "news.jsonl"


def main() -> None:
    """Keep the newest of each cluster."""
    frame = pd.read_json(NEWS, lines=True, dtype=False)
    frame["letters"] = frame["text"].str.len()

    result = twinset.dedup(frame, keep="newest:date")
    clean = result.kept  # the same as frame[result.mask]
    print(clean[["id", "source", "date", "letters"]].to_string(index=False))

    reasons = result.removed.to_pandas()[["id", "because_of", "similarity"]]
    print(reasons.to_string(index=False))

    # To mark rows instead of removing them:
    marked = twinset.dedup(frame, keep="newest:date", flag=True).kept
    print(marked.groupby("cluster").size().sort_values(ascending=False).head(1).to_dict())


if __name__ == "__main__":
    main()
