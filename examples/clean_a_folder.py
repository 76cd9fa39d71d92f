"""Clean a folder of texts: remove near-copies, with a reason for each removal."""

import shutil
import tempfile
from pathlib import Path

import twinset

LETTERS = Path(__file__).parent / "letters"


def main() -> None:
    """Clean a copy of the folder `letters`."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = Path(scratch, "letters"), Path(scratch, "clean")
        shutil.copytree(LETTERS, folder)
        result = twinset.dedup(folder, output=out, copy=True)

        print(result.plan)
        for row in result.removed.to_pylist():
            print(f"{row['id']} was removed: {row['similarity']:.3f} like {row['because_of']}, which is kept")
        print("copied:", ", ".join(sorted(path.name for path in (out / "kept").iterdir())))

        summary = result.summary
        assert summary["kept"] + summary["removed"] + summary["unreadable"] == summary["documents"]
        print(f"{summary['documents']} documents = {summary['kept']} kept + {summary['removed']} removed")


if __name__ == "__main__":
    main()
