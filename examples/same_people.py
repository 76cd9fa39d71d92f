"""Find rows that may be the same person, and the share of all pairs that need no comparison."""

from pathlib import Path

import twinset

PEOPLE = Path(__file__).parent / "people.csv"
COLUMNS = ["name,char:2,2", "street,char:3"]  # a name counts twice as much as a street


def main() -> None:
    """Find the pairs, and compare them with the known truth."""
    found = twinset.find_pairs(str(PEOPLE), text=COLUMNS, threshold=0.5)
    for row in found.pairs.to_pylist():
        print(f"{row['left']} {row['right']} {row['similarity']:.2f}")
    measured = twinset.evaluate(str(PEOPLE), truth=str(PEOPLE), text=COLUMNS, threshold=0.5)
    row = measured.measures.to_pylist()[0]
    print(f"pair completeness {row['recall']:.2f}, reduction ratio {row['reduction_ratio']:.2f}")


if __name__ == "__main__":
    main()
