"""Parts that kernels share: loads of 64 bits, counts of bits, UTF-8 decoding, mixed 64-bit words."""

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from twinset.compiled import inlined

U = np.uint64
HIGH = U(0x8080808080808080)
WEYL = U(0x9E3779B97F4A7C15)

WORD, SINGLE, SPACE, UNSETTLED = 1, 2, 4, 8  # classes of code points, as bits; see unicode.py


@intrinsic
def load64(_context, array, index):  # type: ignore[no-untyped-def]
    """Load eight bytes of a uint8 array from any offset, as one little-endian number."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())
        loaded = builder.load(address)
        loaded.align = 1
        return loaded

    return types.uint64(array, types.int64), generate


@intrinsic
def store64(_context, array, index, value):  # type: ignore[no-untyped-def]
    """Store eight bytes; the reverse of `load64`."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())
        builder.store(args[2], address).align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


@intrinsic
def trailing_zeros(_context, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def ones(_context, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


@inlined
def fmix64(h):  # type: ignore[no-untyped-def]
    h ^= h >> U(33)
    h *= U(0xFF51AFD7ED558CCD)
    h ^= h >> U(33)
    h *= U(0xC4CEB9FE1A85EC53)
    h ^= h >> U(33)
    return h


def splitmix64(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix words as SplitMix64 does (Steele, Lea, Flood 2014)."""
    words = (words ^ (words >> U(30))) * U(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> U(27))) * U(0x94D049BB133111EB)
    return words ^ (words >> U(31))


def random_words(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """Draw words from a seed by SplitMix64; the first do not depend on the number."""
    return splitmix64((np.arange(1, count + 1, dtype=np.uint64) + U(seed)) * WEYL)


@inlined
def decode(data, at):  # type: ignore[no-untyped-def]
    """Return the code point and the length of the valid UTF-8 sequence at data[at]."""
    c = np.int64(data[at])
    if c < 0x80:
        return c, 1
    if c < 0xE0:
        return ((c & 0x1F) << 6) | (np.int64(data[at + 1]) & 0x3F), 2
    if c < 0xF0:
        return ((c & 0x0F) << 12) | ((np.int64(data[at + 1]) & 0x3F) << 6) | (np.int64(data[at + 2]) & 0x3F), 3
    return (
        ((c & 0x07) << 18)
        | ((np.int64(data[at + 1]) & 0x3F) << 12)
        | ((np.int64(data[at + 2]) & 0x3F) << 6)
        | (np.int64(data[at + 3]) & 0x3F)
    ), 4
