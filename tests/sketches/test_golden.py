"""Values that hashing gave when the scheme was fixed.

Another value is another scheme: raise `schema.HASH_SCHEME` and record the values anew beside the old ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests import oracles
from tests.shingles.hashing import hashes_of
from twinset.candidates.banding import band_keys
from twinset.documents.normalize import hash_values
from twinset.plan import Plan
from twinset.schema import HASH_SCHEME, Shingles
from twinset.sketches import minhash_kernels
from twinset.sketches.minhash import sketch

FOX = "The quick brown fox jumps over the lazy dog"
MANY = "Ελληνικά 東京タワー 🙂 naïve"
LONG = "antidisestablishmentarianism"

WORD_HASHES = {
    1: {"fox": 0xEFB69808731F371B, "quick": 0x2589150C5175A11D, "naïve": 0x915F30010A6E1F82, LONG: 0x8F9865E6B7230169}
}
SHINGLES = {
    1: {
        ("word:1", FOX): [0x1E3674A78E712682, 0xC79E1F112788808F, 0x46784F58543A4091],
        ("word:1", MANY): [0x3E2BE0A34E932C3A, 0xD28AD6BE1A62FB8F, 0x1CD2E4404BF0BB3C],
        ("word:1", LONG): [0xF0025913107736FC],
        ("word:2", FOX): [0x5F486EC7F0435591, 0x5AC41BA938339B5D, 0x8223CAF32156D52F],
        ("word:2", LONG): [0x8E6E469F5530A8BD],
        ("word:5", FOX): [0x9889DF9BEDC0EEC0, 0x509CCE6F0D9FA857, 0xD6F36D4DD26D4F1E],
        ("word:5", MANY): [0x528245CA1838F147, 0x120DA9B45FD82F14, 0x2F51F71070719BE5],
        ("char:9", FOX): [0x8022F21B2CD1DC5F, 0x4DAD2F226511C298, 0x38BB0212FD75AD76],
        ("char:9", MANY): [0xD76FC9B3821D814D, 0x5426431148D04E9A, 0x74CBC524F6F73F67],
    }
}
BAG = {1: [0x058DA01596277EAD, 0xD839502F3731A8F4, 0xBE645B5BF0F31CD8, 0xABDA1027FABD3B30]}
SKETCHES = {
    1: {
        "fss": [
            *(0xC67348F3, 0x26865980, 0x2088F2BC, 0x16B106EA, 0x990DF13D, 0x11D9326F, 0x2331DCE5, 0xB7463AED),
            *(0xAA2C1AB7, 0x8FCA7C08, 0xAFB6E41A, 0x4D92D5BB, 0xAF6D6A7B, 0xC4CCA89E, 0x0A5EAD2C, 0x17D21BB1),
        ],
        "kperm": [
            *(0x2649A345, 0x136113BA, 0x09E5782C, 0x1B996F71, 0x353FB6B6, 0x0135DC83, 0x3FD6474C, 0x245ED573),
            *(0x33F86321, 0x0484A0BB, 0x41E7CFCA, 0x255FCD82, 0x08D2D7ED, 0x0DE21ADF, 0x1E12685D, 0x1841C6FC),
        ],
    }
}
DIGEST = {1: [0x418EC4121B4C37B3, 0x5E159471059A70D0]}
BAND_KEYS = {1: [0x99117FA06419650F, 0x052773D5F837F289, 0x62D603DE32CFC369, 0x8084D73A5588967C]}
VALUES = {1: [0x4735333B3E6DDCC8, 0x9BC447D1F9C42F9F, 0]}


def fox() -> Shingles:
    hashes = np.array(hashes_of([FOX], shingle="word:2")[0], np.uint64)
    return Shingles(np.arange(1), np.array([0, len(hashes)]), hashes)


def test_hashes_of_words() -> None:
    """A text of one word, of one-word shingles, is the word's hash and the finaliser."""
    for word, value in WORD_HASHES[HASH_SCHEME].items():
        assert oracles.word_hash(word) == value
        assert hashes_of([word], seed=7, shingle="word:1") == [[oracles.fmix64(value ^ 7)]]


@pytest.mark.parametrize(("spec", "text"), SHINGLES[HASH_SCHEME])
def test_hashes_of_shingles(spec: str, text: str) -> None:
    expected = SHINGLES[HASH_SCHEME][spec, text]
    assert hashes_of([text], shingle=spec)[0][:3] == expected


def test_hashes_of_a_bag() -> None:
    assert hashes_of(["a b a b a"], shingle="word:2", bag=True) == [BAG[HASH_SCHEME]]


@pytest.mark.parametrize("method", ["fss", "kperm"])
def test_sketches(method: str) -> None:
    assert sketch(fox(), method, 16, 1)[0].tolist() == SKETCHES[HASH_SCHEME][method]


def test_digests() -> None:
    digests = np.empty((1, 2), np.uint64)
    minhash_kernels.digest(fox().hashes, fox().offsets, np.arange(len(digests)), digests)
    assert digests[0].tolist() == DIGEST[HASH_SCHEME]


def test_keys_of_bands() -> None:
    keys = band_keys(sketch(fox(), "fss", 16, 1), np.zeros(1, np.uint64), Plan(0.8, 0.99, 16, 4, 4, 0))
    assert keys[:, 0].tolist() == BAND_KEYS[HASH_SCHEME]


def test_hashes_of_values() -> None:
    assert hash_values(pa.array(["en", "a longer value", None]), 0xB1).tolist() == VALUES[HASH_SCHEME]
