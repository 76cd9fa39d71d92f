"""Find short texts that are contained in long ones, and keep only the long ones."""

import twinset

RELEASE = (
    "The city opens the new harbour bridge on Sunday at noon. Buses cross it free of charge until the end of the "
    "month, and the old ferry makes its last trip on Saturday evening."
)
TEXTS = {
    "release": RELEASE,
    "dossier": f"Traffic in the city. For forty years the council has talked about a second crossing. {RELEASE} Shop "
    "owners on the south bank expect twice as many visitors, and the opposition asks what the bridge has cost.",
    "notice": "The library is closed on Monday and Tuesday because of the works in front of its door.",
}


def main() -> None:
    """Print which text contains which, and what is kept."""
    found = twinset.find_pairs(TEXTS, contained=0.8)
    for row in found.pairs.to_pylist():
        print(
            f"{row['left']} and {row['right']}: {row['similarity']:.2f} similar, but "
            f"{max(row['left_in_right'], row['right_in_left']):.0%} of one is in the other"
        )
    assert twinset.find_pairs(TEXTS).pairs.num_rows == 0  # they do not resemble each other

    clean = twinset.dedup(TEXTS, contained=0.8)
    print("kept:", ", ".join(clean.kept["id"].to_pylist()))
    assert clean.removed["id"].to_pylist() == ["release"]


if __name__ == "__main__":
    main()
