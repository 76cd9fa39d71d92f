"""Find customers with similar purchases over months, from merged monthly sketches."""

import tempfile
from pathlib import Path

import twinset

JANUARY = {
    "ann": ["tea", "bread", "jam", "butter", "eggs"],
    "ben": ["soap", "brush", "towel"],
    "eve": ["tea", "bread", "jam", "honey", "eggs"],
}
FEBRUARY = {
    "ann": ["tea", "milk", "oats", "apples"],
    "dan": ["soap", "razor"],
    "eve": ["tea", "milk", "oats", "pears"],
    "ben": ["razor", "soap"],
}


def main() -> None:
    """Sketch each month, merge and compare; purchases are not needed after their month."""
    with tempfile.TemporaryDirectory() as folder:
        for name, month in (("january", JANUARY), ("february", FEBRUARY)):
            made = twinset.sketch(month, items="items", sketch="bottom-k", output=Path(folder, f"{name}.parquet"))
            print(f"{name}: {len(made)} sketches")
        january = twinset.Sketches.open(Path(folder, "january.parquet"))
        both = january.merge(Path(folder, "february.parquet"))
        for row in twinset.find_pairs(both, threshold=0.4).pairs.to_pylist():
            kind = "estimated" if row["estimate"] else "exact"
            print(f"{row['left']} and {row['right']}: {row['similarity']:.3f} ({kind})")

    # The same from the purchases of both months: merged sketches equal the sketches of the unions.
    everything = {who: {*JANUARY.get(who, []), *FEBRUARY.get(who, [])} for who in (*JANUARY, "dan")}
    ann, eve = everything["ann"], everything["eve"]
    assert both.estimate("ann", "eve").similarity == len(ann & eve) / len(ann | eve)


if __name__ == "__main__":
    main()
