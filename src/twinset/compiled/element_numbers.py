"""Number the elements of sets, in the order in which they appear."""

import numpy as np
import numpy.typing as npt

from twinset.compiled import lists_kernels as kernels

_LEAST = 1 << 10


class ElementNumbers:
    """Numbers of elements by their hashes, in a hash table that grows with them.

    Examples
    --------
    >>> numbers = ElementNumbers()
    >>> hashes = np.array([70, 90, 70], np.uint64)
    >>> numbers.number(hashes, np.array([0, 2]), np.array([2, 1], np.uint32))
    >>> hashes.tolist(), len(numbers)
    ([0, 1, 0], 2)
    >>> numbers.find(np.array([90, 80], np.uint64)).tolist()
    [1, 2]
    """

    def __init__(self) -> None:
        self._keys, self._numbers = np.empty(_LEAST, np.uint64), np.zeros(_LEAST, np.uint32)
        self._count = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self._count[0])

    def number(
        self, hashes: npt.NDArray[np.uint64], starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.uint32]
    ) -> None:
        """Replace the hashes of sets hashes[starts[i]:starts[i]+sizes[i]] by the numbers of their elements."""
        done = 0
        while True:
            done = kernels.number_elements(done, hashes, starts, sizes, self._keys, self._numbers, self._count)
            if done == len(sizes):
                return
            self._grow(len(self) + int(sizes[done]))

    def find(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Return the numbers of elements; that of an unknown one is the number of all."""
        found = hashes.copy()
        kernels.find_elements(found, self._keys, self._numbers, np.uint64(len(self)))
        return found

    def _grow(self, elements: int) -> None:
        places = max(2 * len(self._keys), 1 << (2 * elements - 1).bit_length())
        keys, numbers = np.empty(places, np.uint64), np.zeros(places, np.uint32)
        kernels.move_elements(self._keys, self._numbers, keys, numbers)
        self._keys, self._numbers = keys, numbers
