"""Find training texts that are too similar to test questions: compare one source with another."""

import twinset

TEST = {
    "question-1": "Explain in your own words why ice floats on water while most other solids sink in their own liquid, "
    "and name one consequence of this for the life of fish in a pond that freezes over in winter.",
    "question-2": "A train leaves the station at nine and travels at eighty kilometres an hour; a second train follows "
    "half an hour later at a hundred kilometres an hour. When does the second train catch up with the first?",
}
TRAINING = {
    "page-1": "Homework of the week! Explain in your own words why ice floats on water while most other solids sink in "
    "their own liquid, and name one consequence of this for the life of fish in a pond that freezes over in winter.",
    "page-2": "Trains were invented in the early nineteenth century and changed how fast people and goods could move.",
    "page-3": "Trains were invented in the early nineteenth century and changed how fast people and goods could move.",
}


def main() -> None:
    """Find the training texts that contain a question, and leave them out."""
    found = twinset.find_pairs(TRAINING, against=TEST, threshold=0.7)
    for row in found.pairs.to_pylist():
        share = f"it holds {row['right_in_left']:.0%} of it"
        print(f"{row['left']} is {row['similarity']:.2f} like {row['right']}: {share}")

    # page-2 and page-3 are equal, and both are kept: they are not compared with each other.
    clean = twinset.dedup(TRAINING, against=TEST, threshold=0.7)
    print("kept:", clean.kept["id"].to_pylist())
    print("removed:", clean.removed.select(["id", "because_of"]).to_pylist())


if __name__ == "__main__":
    main()
