"""Let people decide: judge pairs of a result, make clean data as decided, and learn the precision from a sample."""

import tempfile
from pathlib import Path

import twinset
from twinset.verdicts import estimate_precision

NEWS = Path(__file__).parent / "news.jsonl"


def main(folder: Path) -> None:
    """Judge two pairs by hand, and all pairs of a sample by a rule that stands for a person."""
    result = twinset.dedup(NEWS, floor=0.5, output=folder / "clean")
    with result.open_verdicts() as verdicts:
        pair = result.content("harbour-1"), result.content("harbour-2")
        verdicts.judge("different", *pair, who="Ann", note="two engines")
        verdicts.judge("duplicate", result.content("bakery-1"), result.content("bakery-2"), who="Ann")

        # A random sample says how precise each threshold is; verdicts on pairs that people looked for do not.
        for drawn in result.sample(pairs=4).pairs:
            same = drawn.left.id.split("-")[0] == drawn.right.id.split("-")[0]
            if verdicts.pair(drawn.left.digest, drawn.right.digest) is None:
                verdicts.judge("duplicate" if same else "different", drawn.left, drawn.right, who="Bob")
        for row in estimate_precision(verdicts).rows:
            print(f"threshold {row.limit:g}  pairs {row.pairs}  precision {row.low:.2f} to {row.high:.2f}")
        print(verdicts.counts())

    decided = twinset.recut(result, verdicts=True)
    for row in decided.removed.to_pylist():
        print(f"{row['id']} because of {row['because_of']}, {row['similarity']:.2f} similar, judged: {row['verdict']}")

    # A later run over the same documents, in any order and with others, obeys the same verdicts.
    again = twinset.dedup(NEWS, verdicts=folder / "clean.verdicts")
    assert again.removed.equals(decided.removed)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
