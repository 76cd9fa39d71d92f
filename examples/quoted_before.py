"""Keep an index of earlier texts, and ask which of them a new text quotes."""

import tempfile
from pathlib import Path

import twinset

EARLIER = {
    "speech": "Four score and seven years ago our fathers brought forth on this continent a new nation",
    "play": "To be, or not to be: that is the question, whether tis nobler in the mind to suffer",
    "notice": "The library is closed on Monday and Tuesday because of the works in front of its door",
}
ARRIVAL = "He asked whether 'tis nobler in the mind to suffer, and left. Our fathers brought forth on this continent..."


def main() -> None:
    """Print the passages that the new text shares with earlier ones."""
    with tempfile.TemporaryDirectory() as folder, twinset.Index.create(Path(folder) / "earlier", passages=6) as index:
        index.add(EARLIER)
        for row in index.passages(ARRIVAL).to_pylist():
            words = ARRIVAL[row["left_start"] : row["left_end"]]
            print(f"{row['words']} words of {row['right']!r}, from character {row['right_start']} on: {words}")
        assert index.passages("nothing that was said before in these words").num_rows == 0


if __name__ == "__main__":
    main()
