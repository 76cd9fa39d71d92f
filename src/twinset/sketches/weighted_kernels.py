"""DartMinHash: darts thrown at every element; the dart of lowest rank in a slot is its value.

Christiani: DartMinHash, arXiv 2005.11547. Above each element is a board of weights and ranks with fixed random darts,
one per unit of area on average. A set has the darts below its weights. Each dart belongs to one slot, and the slot
takes the dart of lowest rank. Two sets have the same one with probability Σ min / Σ max of their weights.

The board is split into octaves of weight, [2^v, 2^(v+1)), each with its own sequence of darts by rank, so that all
scales are treated alike: ranks are compared only within a set, in units of its total weight.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import WEYL, U, fmix64

V = np.uint32
EMPTY = V(0xFFFFFFFF)
OCTAVE_MIX = U(0xD6E8FEB86659FD93)
GROUP_MIX = U(0xA0761D6478BD642F)
SEED_MIX = U(0x8EBC6AF09C88C6E3)
ZERO_LOW, ZERO_HIGH = U(0x0101010101010101), U(0x8080808080808080)
MANTISSA = U((1 << 52) - 1)
BIAS = 2048  # octaves are numbered from 0: the smallest weight, 2^-1074, is in octave 2048 - 1074
STEPS = 1.0 + (np.arange(128) + 0.5) / 128.0
INVERSES = np.round(2.0**32 / STEPS) * 2.0**-32
LOGARITHMS = np.round(-np.log(INVERSES) * 2.0**46) * 2.0**-46  # rounded: libraries differ in the last bit
LN_2 = 0.6931471805599453
DEEPEST = 63  # octaves below the total weight that are used: deeper ones have a dart in one of 10^10 sets


@intrinsic
def leading_zeros(_context, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@inlined
def waiting_time(x):  # type: ignore[no-untyped-def]
    """-ln(x · 2^-64), to 1e-13, x above 0: an exponential time from a random number, without a library's logarithm."""
    zeros = leading_zeros(x)
    x <<= U(zeros)
    step = (x >> U(56)) & U(127)
    r = np.float64(x >> U(11)) * 2.0**-52 * INVERSES[step] - 1.0
    series = r * (1.0 - r * (1.0 / 2.0 - r * (1.0 / 3.0 - r * (1.0 / 4.0 - r * (1.0 / 5.0)))))
    return max(0.0, np.float64(zeros + 1) * LN_2 - (LOGARITHMS[step] + series))


@inlined
def first_time(x):  # type: ignore[no-untyped-def]
    """-ln(1 - x · 2^-64), to 1e-13 of itself."""
    if x >> U(56) != U(0):
        return waiting_time(~x)
    u = (np.float64(x) + 0.5) * 2.0**-64
    return u * (1.0 + u * (1.0 / 2.0 + u * (1.0 / 3.0 + u * (1.0 / 4.0 + u * (1.0 / 5.0 + u * (1.0 / 6.0))))))


@inlined
def octave_of(bits):  # type: ignore[no-untyped-def]
    """Octave of a weight, and its position within the octave, in units of 2^-52 of the octave."""
    octave = np.int64(bits >> U(52)) - 1023 + BIAS
    rest = bits & MANTISSA
    if bits >> U(52) == U(0):  # below 2^-1022 floats have fewer digits
        octave += 1
        while rest >> U(52) == U(0):
            rest <<= U(1)
            octave -= 1
        rest &= MANTISSA
    return octave, rest


@inlined
def total_of(bits):  # type: ignore[no-untyped-def]
    """Octave of the sum of the weights, and the eighth of it in which the sum lies, up to a last bit."""
    highest = np.int64(0)
    for i in range(len(bits)):
        highest = max(highest, octave_of(bits[i])[0])
    total = 0.0
    for i in range(len(bits)):
        octave, rest = octave_of(bits[i])
        total += math.ldexp(1.0 + np.float64(rest) * 2.0**-52, octave - highest)
    while total >= 2.0:
        total *= 0.5
        highest += 1
    return highest, np.int64((total - 1.0) * 8.0)


@inlined
def throw(state, first, depth, border, bound, ranks, slots):  # type: ignore[no-untyped-def]
    """Assign the darts of one octave up to a rank to their slots.

    The first is at first · 2^-64 of the probability that there is one; each next one follows after an exponential time.
    Those at or above `border`, in units of 2^-52 of the octave, exceed the weight.
    """
    n_slots, scale = U(len(slots)), np.float64(U(1) << U(depth))
    arrival = first_time(first)
    rank = arrival * scale
    number = U(0)
    while rank <= bound:
        dart = fmix64(state + (number + U(1)) * WEYL)
        if border > MANTISSA or dart * OCTAVE_MIX >> U(12) < border:
            slot = ((dart >> U(32)) * n_slots) >> U(32)
            value = min(V(dart & U(0xFFFFFFFF)), EMPTY - V(1))
            if rank < ranks[slot] or (rank == ranks[slot] and value < slots[slot]):
                ranks[slot] = rank
                slots[slot] = value
        number += U(1)
        arrival += waiting_time(dart * GROUP_MIX | U(1))
        rank = arrival * scale


@inlined
def throw_all(hashes, bits, salt, top, chances, bound, ranks, slots):  # type: ignore[no-untyped-def]
    """Assign all darts of a set up to a rank to their slots.

    chances uint64 (DEEPEST + 1): probability of a dart up to the rank, by octaves below the top one, times 2^64.
    """
    lowest = max(top - DEEPEST, 0)
    for i in range(len(hashes)):
        element = fmix64(hashes[i] ^ salt)
        octave, rest = octave_of(bits[i])
        for group in range(octave >> 3, (lowest >> 3) - 1, -1):
            # A byte for each of eight octaves: where a dart is rarer than 1 in 256, only a zero byte may mean one.
            word = fmix64(element + U(group) * GROUP_MIX)
            highest = min(octave, group * 8 + 7)
            likeliest = chances[min(top - highest, DEEPEST)]
            if likeliest < U(1) << U(56) and (word - ZERO_LOW) & ~word & ZERO_HIGH == U(0):
                continue
            for v in range(highest, max(group * 8, lowest) - 1, -1):
                chance = chances[top - v]
                byte = (word >> (U(v & 7) * U(8))) & U(255)
                if byte > chance >> U(56):
                    continue
                state = fmix64(element ^ U(v) * OCTAVE_MIX)
                first = byte << U(56) | state >> U(8)
                if first < chance:
                    throw(state, first, top - v, rest if v == octave else ~U(0), bound, ranks, slots)


@kernel("void(uint64[::1], uint64[::1], int64[::1], uint64, uint64[:, ::1], float64[::1], uint32[:, ::1])")
def darts(hashes, bits, offsets, seed, chances, bounds, sketches):  # type: ignore[no-untyped-def]
    """Sketch each set: in each slot 32 bits of its dart of lowest rank.

    hashes uint64 and bits uint64 (the weights' bits, all above 0): elements offsets[i] to offsets[i + 1] are those of
    set i, unique, in any order. chances uint64 (8 · rounds, DEEPEST + 1) and bounds float64 (8 · rounds): for each
    eighth of an octave of the total weight, rounds of increasing ranks, until every slot has a dart. sketches uint32
    (n, k), written; an empty set has EMPTY in every slot.
    """
    k = sketches.shape[1]
    ranks = np.empty(k, np.float64)
    salt = fmix64(seed ^ SEED_MIX)
    for row in range(len(offsets) - 1):
        slots = sketches[row]
        start, end = offsets[row], offsets[row + 1]
        slots[:] = EMPTY
        if start == end:
            continue
        ranks[:] = np.inf
        top, eighth = total_of(bits[start:end])
        number = eighth
        unfilled = True
        while unfilled and number < len(bounds):
            throw_all(hashes[start:end], bits[start:end], salt, top, chances[number], bounds[number], ranks, slots)
            unfilled = False
            for j in range(k):
                unfilled |= slots[j] == EMPTY
            number += 8
