"""Hamming join: block keys, tables grouped by key, comparison of eight codes at once.

Codes are uint64 (words, n + LANES): word w of code i is codes[w, i]; the last columns are padding. A block of bits is a
mask for each word. Its key is the masked bits, compacted.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from twinset.compiled import inlined, kernel
from twinset.compiled.bytes_kernels import U, ones, trailing_zeros

LANES = 8


def _lanes(context, builder, signature, args, words):  # type: ignore[no-untyped-def]
    """Machine code for `near_one` and `near_two`: XOR, popcount and comparison of eight codes at once."""
    word, lanes = ir.IntType(64), ir.VectorType(ir.IntType(64), LANES)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    empty = ir.Constant(lanes, ir.Undefined)

    def spread(value):  # type: ignore[no-untyped-def]
        one = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(one, empty, zeros)

    count = cgutils.get_or_insert_function(builder.module, ir.FunctionType(lanes, [lanes]), f"llvm.ctpop.v{LANES}i64")
    at, total = args[words], None
    for number in range(words):
        data = context.make_array(signature.args[number])(context, builder, args[number]).data
        loaded = builder.load(builder.bitcast(builder.gep(data, [at]), lanes.as_pointer()))
        loaded.align = 8
        differing = builder.call(count, [builder.xor(loaded, spread(args[words + 1 + number]))])
        total = differing if total is None else builder.add(total, differing)
    close = builder.icmp_unsigned("<=", total, spread(args[2 * words + 1]))
    return builder.zext(builder.bitcast(close, ir.IntType(LANES)), word)


@intrinsic
def near_one(_context, codes, at, x, distance):  # type: ignore[no-untyped-def]
    """Bit mask of the codes[at:at + LANES] that differ from x in at most `distance` bits."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _lanes(context, builder, signature, args, 1)

    return types.uint64(codes, types.int64, types.uint64, types.uint64), generate


@intrinsic
def near_two(_context, first, second, at, x, y, distance):  # type: ignore[no-untyped-def]
    """As `near_one` for codes of two words, (first[i], second[i]) against (x, y)."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _lanes(context, builder, signature, args, 2)

    return types.uint64(first, second, types.int64, types.uint64, types.uint64, types.uint64), generate


@inlined
def near(codes, at, theirs, place, distance):  # type: ignore[no-untyped-def]
    """Bit mask of the codes from `at` on within `distance` of theirs[:, place], by the first two words."""
    if codes.shape[0] == 1:
        return near_one(codes[0], at, theirs[0, place], U(distance))
    return near_two(codes[0], codes[1], at, theirs[0, place], theirs[1, place], U(distance))


@inlined
def differing(left, i, right, j):  # type: ignore[no-untyped-def]
    """Number of bits in which left[:, i] and right[:, j] differ."""
    total = 0
    for word in range(left.shape[0]):
        total += ones(left[word, i] ^ right[word, j])
    return total


@inlined
def met_before(left, i, right, j, earlier, allowed):  # type: ignore[no-untyped-def]
    """Whether one of the blocks `earlier` (masks of words) differs in at most its allowed number of bits."""
    for block in range(len(allowed)):
        total = 0
        for word in range(left.shape[0]):
            total += ones((left[word, i] ^ right[word, j]) & earlier[block, word])
        if total <= allowed[block]:
            return True
    return False


@inlined
def next_flip(flip, width):  # type: ignore[no-untyped-def]
    """Next number with as many ones as `flip`, or the smallest with one more, in `width` bits.

    Gosper, HAKMEM 175 (1972).
    """
    if flip == U(0):
        return U(1)
    low = flip & (~flip + U(1))
    up = flip + low
    following = up | ((flip ^ up) >> U(2 + trailing_zeros(flip)))
    return following if following >> U(width) == U(0) else (U(1) << U(ones(flip) + 1)) - U(1)


@kernel("void(uint64[::1], uint64[:, ::1])")
def squeeze_steps(masks, steps):  # type: ignore[no-untyped-def]
    """Shifts of each of the six steps by which `keys` compacts the masked bits, for each word.

    Warren, Hacker's Delight, 7-4. masks uint64 (words), steps uint64 (words, 6), written.
    """
    for word in range(len(masks)):
        mask = masks[word]
        gaps = ~mask << U(1)
        for step in range(6):
            parity = gaps
            for shift in range(6):
                parity ^= parity << U(1 << shift)
            moving = parity & mask
            steps[word, step] = moving
            mask = (mask ^ moving) | (moving >> U(1 << step))
            gaps &= ~parity


@inlined
def squeezed(x, steps):  # type: ignore[no-untyped-def]
    for step in range(6):
        moving = x & steps[step]
        x = (x ^ moving) | (moving >> U(1 << step))
    return x


@kernel("void(uint64[:, ::1], uint64[::1], uint64[:, ::1], uint32[::1])")
def keys(codes, masks, steps, out):  # type: ignore[no-untyped-def]
    """out[i]: the bits of code i under the masks, compacted, the first word lowest."""
    for i in range(len(out)):
        out[i] = 0
    at = 0
    for word in range(len(masks)):
        mask = masks[word]
        if mask == U(0):
            continue
        row = codes[word]
        first, second, third = steps[word, 0], steps[word, 1], steps[word, 2]
        fourth, fifth, sixth = steps[word, 3], steps[word, 4], steps[word, 5]
        for i in range(len(out)):  # `squeezed` inlined, so that it vectorises
            x = row[i] & mask
            moving = x & first
            x = (x ^ moving) | (moving >> U(1))
            moving = x & second
            x = (x ^ moving) | (moving >> U(2))
            moving = x & third
            x = (x ^ moving) | (moving >> U(4))
            moving = x & fourth
            x = (x ^ moving) | (moving >> U(8))
            moving = x & fifth
            x = (x ^ moving) | (moving >> U(16))
            moving = x & sixth
            x = (x ^ moving) | (moving >> U(32))
            out[i] |= np.uint32(x << U(at))
        at += ones(mask)


@kernel("void(uint32[::1], uint64[:, ::1], uint32[::1], uint32[::1], uint64[:, ::1], uint32[::1])")
def group(found, codes, numbers, starts, grouped, members):  # type: ignore[no-untyped-def]
    """Sort codes and their numbers by key, stably (counting sort).

    found uint32 (n): keys; starts uint32 (2^width + 1), written: key k has positions starts[k]:starts[k + 1].
    """
    starts[:] = 0
    for key in found:
        starts[key] += 1
    total = np.uint32(0)
    for key in range(len(starts)):
        total += starts[key]
        starts[key] = total
    words = codes.shape[0]
    for i in range(len(found) - 1, -1, -1):
        at = starts[found[i]] - np.uint32(1)
        starts[found[i]] = at
        members[at] = numbers[i]
        for word in range(words):
            grouped[word, at] = codes[word, i]


@inlined
def meet(left, i, base, left_end, right, right_start, right_end, triangle, distance, rules, found, count):  # type: ignore[no-untyped-def]
    """Compare the codes from position i to left_end with those of another bucket, or of their own if `triangle`.

    Returns the number of pairs so far, and where to resume: left_end when done.
    """
    earlier, allowed = rules
    left_numbers, right_numbers, lefts, rights, distances = found
    room = len(lefts) - LANES
    second = 1 if left.shape[0] > 1 else 0
    theirs, their_seconds, most = right[0], right[second], U(distance)
    while i < left_end:
        if base < 0:
            base = i + 1 if triangle else right_start
        x, y = left[0, i], left[second, i]
        while base < right_end:
            if second == 0:
                hits = near_one(theirs, base, x, most)
            else:
                hits = near_two(theirs, their_seconds, base, x, y, most)
            if hits != U(0) and count > room:
                return count, i, base
            while hits != U(0):
                j = base + trailing_zeros(hits)
                hits &= hits - U(1)
                if j >= right_end:
                    break
                bits = differing(left, i, right, j)
                if bits <= distance and not met_before(left, i, right, j, earlier, allowed):
                    lefts[count] = left_numbers[i]
                    rights[count] = right_numbers[j]
                    distances[count] = bits
                    count += 1
            base += LANES
        base = -1
        i += 1
    return count, i, base


@kernel(
    "int64(uint32[::1], uint64[:, ::1], uint32[::1], uint32[::1], uint64[:, ::1], uint32[::1], boolean, int64, int64,"
    "int64, uint64[:, ::1], int64[::1], int64, int64[::1], uint32[::1], uint32[::1], uint16[::1], int64[:, ::1])"
)
def join(
    left_starts, left, left_numbers, right_starts, right, right_numbers, same, width, radius, distance,
    earlier, allowed, crowd, state, lefts, rights, distances, crowded,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Find the pairs of codes within `distance` whose keys differ in at most `radius` of `width` bits.

    Both sides are grouped by key; with `same` they are the same codes, and each pair comes once. Pairs that collide in
    one of the blocks `earlier` are skipped. Two buckets with more than `crowd` comparisons are not compared but listed
    in crowded: left start and end, right start and end.

    state int64 (6): bucket, end of the buckets, flip, position in the left bucket, position in the right one, and
    number of crowded entries. Fills lefts, rights and distances, and returns the number of pairs; state[0] < state[1]
    if more follow.
    """
    bucket, stop, flip, i, base = state[0], state[1], U(state[2]), state[3], state[4]
    count, crowds = 0, 0
    rules = (earlier, allowed)
    found = (left_numbers, right_numbers, lefts, rights, distances)
    while bucket < stop:
        start, end = np.int64(left_starts[bucket]), np.int64(left_starts[bucket + 1])
        while start < end:
            other = np.int64(U(bucket) ^ flip)
            first, last = np.int64(right_starts[other]), np.int64(right_starts[other + 1])
            if first < last and not (same and other < bucket):
                triangle = same and other == bucket
                if i < 0 and (end - start) * (last - first) >> np.int64(triangle) > crowd:
                    crowded[crowds, 0], crowded[crowds, 1] = start, end
                    crowded[crowds, 2], crowded[crowds, 3] = first, last
                    crowds += 1
                else:
                    i = start if i < 0 else i
                    count, i, base = meet(
                        left, i, base, end, right, first, last, triangle, distance, rules, found, count
                    )
                    if i < end:
                        state[0], state[2], state[3], state[4], state[5] = bucket, np.int64(flip), i, base, crowds
                        return count
                    i = -1
            flip = next_flip(flip, width)
            if ones(flip) > radius or flip >> U(width) != U(0):
                break
            if crowds == len(crowded):
                state[0], state[2], state[3], state[4], state[5] = bucket, np.int64(flip), -1, -1, crowds
                return count
        flip = U(0)
        bucket += 1
        if crowds == len(crowded):
            break
    state[0], state[2], state[3], state[4], state[5] = bucket, 0, -1, -1, crowds
    return count
