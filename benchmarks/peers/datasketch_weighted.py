"""datasketch's weighted MinHash, one thread: weighted sets in memory to 128 samples each."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import numpy as np
from datasketch import WeightedMinHashGenerator
from scipy.sparse import csr_matrix

from benchmarks import weighted_contest as contest

BATCHES = (10, 30, 100, 300)
ONE_BY_ONE = 20  # sets for the function that takes them one by one, which takes milliseconds each


def _matrix(offsets: contest.Places, columns: contest.Places, weights: contest.Floats, width: int) -> csr_matrix:
    return csr_matrix((weights.astype(np.float32), columns, offsets), shape=(len(offsets) - 1, width))


def _many(generator: WeightedMinHashGenerator, matrix: csr_matrix, batch: int) -> list[object]:
    found: list[object] = []
    for start in range(0, matrix.shape[0], batch):
        found += generator.minhash_many(matrix[start : start + batch])
    return found


def _quickest(generator: WeightedMinHashGenerator, matrix: csr_matrix, repeat: int) -> tuple[float, str]:
    """Seconds a set, and how."""
    few = matrix[:ONE_BY_ONE].toarray()
    spent = contest.best_time(lambda: [generator.minhash(row) for row in few], 1) / len(few)
    tried = [(spent, "minhash")]
    for batch in BATCHES:
        spent = contest.best_time(lambda batch=batch: _many(generator, matrix, batch), repeat)  # type: ignore[misc]
        tried.append((spent / matrix.shape[0], f"minhash_many, {batch} at a time"))
    return min(tried)


def main() -> None:
    offsets, columns, weights, repeat = contest.arguments()
    width = int(columns.max()) + 1
    generator = WeightedMinHashGenerator(width, contest.N_HASHES)
    matrix = _matrix(offsets, columns, weights, width)
    _many(generator, matrix[:20], 10)
    seconds, how = _quickest(generator, matrix, repeat)
    true = contest.true_similarities(offsets, columns, weights)
    hashed = np.array([one.hashvalues for one in _many(generator, matrix, 30)])  # type: ignore[attr-defined]
    equal = (hashed[::2] == hashed[1::2]).all(axis=2).mean(axis=1)
    by_size = []
    for size in contest.SIZES:
        of_size = _matrix(*contest.sized(size, 60_000 // size, width), width)
        by_size.append(_quickest(generator, of_size, 1)[0] * 1e6)
    sets = len(offsets) - 1
    result = {"how": how, "best": seconds * sets, "sets": sets, "elements": len(columns), "by_size": by_size}
    contest.say(result | contest.quality(true, [equal]))


if __name__ == "__main__":
    main()
