"""Words drawn from a seed are those of SplitMix64: sketches on disk depend on them."""

from __future__ import annotations

import pytest

from twinset.compiled.bytes_kernels import WEYL, random_words, splitmix64
from twinset.sketches.minhash import _salts

KNOWN = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # of the authors' program, from the state 0


def mixed(word: int) -> tuple[int, int]:
    """A word before the last step of SplitMix64, and after it, in plain Python."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word, word ^ word >> 31


def test_the_first_words() -> None:
    assert random_words(3, 0).tolist() == KNOWN
    assert splitmix64(random_words(0, 0)).tolist() == []


@pytest.mark.parametrize("seed", [0, 1, 7, 2**63, 2**64 - 1])
def test_words_and_salts_of_a_seed(seed: int) -> None:
    states = [(number + seed) * int(WEYL) % 2**64 for number in range(1, 201)]
    assert random_words(200, seed).tolist() == [mixed(state)[1] for state in states]
    assert _salts(200, seed).tolist() == [mixed(state)[0] >> 32 for state in states]
