"""Find the passages that essays copied from a book, and how much of each essay is copied."""

import twinset

BOOK = {
    "harbour": "The harbour was built in 1702, when the old river mouth silted up. Stone came from the quarries in the "
    "north, carried on flat barges in the summer months, and for nine years three hundred men worked on the long wall.",
}
ESSAYS = {
    "anna": "My town lives from the sea. Stone came from the quarries in the north, carried on flat barges in the "
    "summer months, and for nine years three hundred men worked there.",
    "ben": "The stone came from quarries in the north, carried on wide barges in the summer months, and for almost "
    "nine years three hundred men worked on the long wall.",
    "carl": "Rocks were shipped from northern quarries, and hundreds of workers needed nearly a decade.",
}


def main() -> None:
    """Print each copied passage, and how much of each essay is copied."""
    found = twinset.find_passages(ESSAYS, against=BOOK, least=10, gap=5)
    for row in found.passages.to_pylist():
        passage = ESSAYS[row["left"]][row["left_start"] : row["left_end"]]
        print(f"{row['left']}, {row['shared']} of {row['words']} words as in {row['right']}: {passage}")

    for row in found.copied.to_pylist():
        if row["role"] == "source":
            print(f"{row['id']}: {row['copied']} of {row['words']} words are in {row['most_in'] or 'no book'}")
    copied = dict(zip(found.copied["id"].to_pylist(), found.copied["copied"].to_pylist(), strict=True))
    assert copied["anna"] > 20
    assert copied["carl"] == 0


if __name__ == "__main__":
    main()
