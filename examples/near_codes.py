"""Find near-duplicates by given bit codes: all pairs within a few bits, the clean list, and the nearest of each."""

import hashlib

import twinset

BITS = 3


def codes() -> dict[str, str]:
    """Make 64-bit codes of pictures in hexadecimal; some are equal, or differ in a bit or two."""
    made = {name: hashlib.sha256(name.encode()).hexdigest()[:16] for name in ("quay", "tower", "bridge", "market")}
    quay = int(made["quay"], 16)
    made["quay, brighter"] = f"{quay ^ 0b1:016x}"
    made["quay, cropped"] = f"{quay ^ 0b110001:016x}"
    made["tower, again"] = made["tower"]
    return made


def main() -> None:
    """Find pairs, keep one of each picture, and find the nearest."""
    given = codes()
    pairs = twinset.find_pairs(given, codes="code", distance=BITS)
    print(pairs.plan)
    for row in pairs.pairs.to_pylist():
        print(f"{row['left']} and {row['right']} differ in {row['distance']} bits")

    clean = twinset.dedup(given, codes="code", distance=BITS)
    print("kept:", ", ".join(clean.kept["id"].to_pylist()))
    for row in clean.removed.to_pylist():
        print(f"removed: {row['id']}, {row['distance']} bits from {row['because_of']}")

    nearest = twinset.find_pairs(given, codes="code", distance=64, top=1)
    for row in nearest.pairs.to_pylist():
        print(f"nearest to {row['left']}: {row['right']}, {row['distance']} bits away")


if __name__ == "__main__":
    main()
