"""A slow, obvious version of every kernel, in plain Python.

Definitions that the textbook has are taken from `twinset.textbook`. The rest stands here: the values of the hash
scheme, written with whole numbers; sketches, joins and clusters, written with sets and loops.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from twinset import textbook
from twinset.schema import SCORES
from twinset.textbook import passages as textbook_passages

BITS_32, BITS_64 = 2**32 - 1, 2**64 - 1
MIX_A, MIX_B, WHOLE = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F
ROUND_MIX, ROUND_SEED, DIGEST_MIX = 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3
BAND_MIX, SLOT_MIX = 0xA24BAED4963EE407, 0x9FB21C651E98DF25
EMPTY_SLOT = BITS_32

# Shingles


def text_of(raw: str | bytes | None) -> str:
    """A null is empty, and bytes that are not UTF-8 are replaced."""
    if raw is None:
        return ""
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw


def shingle_list(raw: str | bytes | None, shingle: str = "word:5", **words: bool) -> list[textbook.Shingle]:
    """The shingles of a text in order, under the options' own words."""
    steps = {"squeezed" if name == "squeeze" else name: on for name, on in words.items() if name != "bag"}
    return textbook.shingle_list(text_of(raw), shingle, **steps)


def shingle_set(raw: str | bytes | None, shingle: str = "word:5", **words: bool) -> frozenset[tuple[Hashable, int]]:
    """The shingles of a text as a set; those of a bag with their occurrence number."""
    found = shingle_list(raw, shingle, **words)
    return textbook.bag_as_set(found if words.get("bag") else set(found))


def fmix64(h: int) -> int:
    """The finaliser of MurmurHash3."""
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & BITS_64
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & BITS_64
    return h ^ h >> 33


def word_hash(word: str) -> int:
    """Eight bytes at a time while more than 16 are left, then the last one to sixteen."""
    data = word.encode()
    h = len(data) * MIX_B & BITS_64
    while len(data) > 16:
        h = (h ^ int.from_bytes(data[:8], "little")) * MIX_A & BITS_64
        h ^= h >> 29
        data = data[8:]
    h = (h ^ int.from_bytes(data[:8], "little")) * MIX_A & BITS_64
    h ^= h >> 32
    h = (h + int.from_bytes(data[8:], "little")) * MIX_B & BITS_64
    return h ^ h >> 32


def character_hash(character: str) -> int:
    h = (ord(character) + MIX_A) * MIX_B & BITS_64
    return h ^ h >> 32


def shingle_hash(shingle: textbook.Shingle, size: int, seed: int) -> int:
    """A polynomial in the token hashes, finished; a text shorter than `size` tokens is marked as whole."""
    tokens = [word_hash(w) for w in shingle] if isinstance(shingle, tuple) else [*map(character_hash, shingle)]
    h = 0
    for token in tokens:
        h = (h * MIX_A + token) & BITS_64
    if len(tokens) < size:
        h ^= len(tokens) * WHOLE & BITS_64
    return fmix64(h ^ seed) or 1


def shingle_hashes(raw: str | bytes | None, seed: int = 1, shingle: str = "word:5", **words: bool) -> list[int]:
    """The hashes of a text's shingles, in order; of a bag, repeats are numbered."""
    size = int(shingle.split(":")[1])
    seen: Counter[int] = Counter()
    hashes = []
    for one in shingle_list(raw, shingle, **words):
        h = shingle_hash(one, size, seed)
        repeat = seen[h]
        seen[h] += 1
        hashes.append((fmix64((h + repeat * MIX_B) & BITS_64) or 1) if words.get("bag") and repeat else h)
    return hashes


# Sketches


def fss(hashes: Iterable[int], k: int) -> list[int]:
    """Three rounds in which each shingle bids for one slot, then a permutation for each slot nobody bid for."""
    shingles = list(hashes)
    slots = [EMPTY_SLOT] * k
    if not shingles:
        return slots
    for number in range(3):
        if EMPTY_SLOT not in slots:
            return slots
        for x in shingles:
            h = x
            if number:
                h = (x ^ number * ROUND_SEED & BITS_64) * ROUND_MIX & BITS_64
                h ^= h >> 32
            slot = (h & BITS_32) * k >> 32
            slots[slot] = min(slots[slot], h >> 34 | number << 30)
    for j in range(k):
        if slots[j] == EMPTY_SLOT:
            least = min(_left_over(x, j) for x in shingles)
            slots[j] = min(least | 3 << 30, EMPTY_SLOT - 1)
    return slots


def _left_over(x: int, slot: int) -> int:
    h = (x ^ (slot + 4) * ROUND_SEED & BITS_64) * ROUND_MIX & BITS_64
    h ^= h >> 32
    return (h * DIGEST_MIX & BITS_64) >> 34


def kperm(hashes: Iterable[int], k: int, seed: int) -> list[int]:
    """The least value of each of k hash functions."""
    shingles = [(x >> 32 ^ x) & BITS_32 for x in hashes]
    return [min((_fmix32(x ^ _salt(j, seed)) for x in shingles), default=EMPTY_SLOT) for j in range(k)]


def _fmix32(h: int) -> int:
    h = (h ^ h >> 16) * 0x85EBCA6B & BITS_32
    h = (h ^ h >> 13) * 0xC2B2AE35 & BITS_32
    return h ^ h >> 16


def _salt(slot: int, seed: int) -> int:
    h = ((slot + 1 + seed) & BITS_64) * 0x9E3779B97F4A7C15 & BITS_64
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & BITS_64
    h = (h ^ h >> 27) * 0x94D049BB133111EB & BITS_64
    return h >> 32


def digest(hashes: Iterable[int]) -> tuple[int, int]:
    first = second = 0
    for x in hashes:
        y = x * DIGEST_MIX & BITS_64
        y ^= y >> 32
        first, second = (first + x) & BITS_64, (second + y * ROUND_MIX) & BITS_64
    return first, second


# Candidates


def band_key(slots: Sequence[int], band: int, rows: int, salt: int = 0) -> int:
    h = (band + 1) * BAND_MIX & BITS_64 ^ salt
    for slot in slots[band * rows : (band + 1) * rows]:
        h = (h ^ slot) * SLOT_MIX & BITS_64
        h ^= h >> 31
    return fmix64(h)


def candidates(
    slots: Sequence[Sequence[int]], salts: Sequence[int], bands: int, rows: int, least: int, border: int | None
) -> set[tuple[int, int]]:
    """Pairs of positions of equal salt that agree in a whole band and in the low bytes of at least `least` slots."""
    found = set()
    for left, right in combinations(range(len(slots)), 2):
        apart = border is not None and not left < border <= right
        equal = sum(a & 0xFF == b & 0xFF for a, b in zip(slots[left], slots[right], strict=True))
        met = any(
            list(slots[left][b * rows : (b + 1) * rows]) == list(slots[right][b * rows : (b + 1) * rows])
            for b in range(bands)
        )
        if not apart and met and equal >= least and salts[left] == salts[right]:
            found.add((left, right))
    return found


def partitions(left: Sequence[int], right: Sequence[int], offset: int, bits: int, kept: int) -> list[list[list[int]]]:
    """For each partition of keys, chosen by `bits` of them, the words of each side: `kept` bits and a position."""
    found: list[list[list[int]]] = [[[], []] for _ in range(1 << bits)]
    for side, keys, first in ((0, left, 0), (1, right, offset)):
        for position, key in enumerate(keys, first):
            mixed = key * SLOT_MIX & BITS_64
            found[mixed >> (64 - bits)][side].append(mixed >> (64 - kept) << (64 - kept) | position)
    return found


def prefixes(
    sets: Sequence[Sequence[int]], salts: Sequence[int], threshold: float, places: int
) -> list[tuple[int, list[int]]]:
    """For each set how many of its |A| - ⌈t|A|⌉ + 1 rarest tokens no other set has, and the keys of the others.

    Tokens that agree in their low bits, of which there are `places`, are counted as one.
    """
    tokens = [[x ^ salt for x in one] for one, salt in zip(sets, salts, strict=True)]
    counts = Counter(x % places for one in tokens for x in one)
    found = []
    for one in tokens:
        length = len(one) - max(1, math.ceil(threshold * len(one) * (1 - 1e-12))) + 1
        keys = sorted(0 if counts[x % places] == 1 else counts[x % places] << 40 | x >> 24 for x in one)[:length]
        found.append((keys.count(0), [key for key in keys if key]))
    return found


def bitmap(tokens: Iterable[int], bits: int) -> int:
    """A whole number of so many bits, one of which each token turns over."""
    found = 0
    for x in tokens:
        found ^= 1 << x % bits
    return found


def differing_bits(one: int, other: int, bits: int) -> int:
    """In how many bits two bitmaps differ, both folded to so many bits."""
    return (_folded(one, bits) ^ _folded(other, bits)).bit_count()


def _folded(bitmap: int, bits: int) -> int:
    found = 0
    while bitmap:
        found ^= bitmap % (1 << bits)
        bitmap >>= bits
    return found


# Pairs

Scores = tuple[float, ...]

COLUMNS: dict[str, Callable[[frozenset[Any], frozenset[Any]], float]] = {
    "similarity": textbook.jaccard,
    "left_in_right": textbook.containment,
    "right_in_left": lambda left, right: textbook.containment(right, left),
}
"""Every score column of two sets, by the textbook."""


def scores(left: frozenset[Any], right: frozenset[Any]) -> Scores:
    """The scores of two sets in the order of the columns."""
    return tuple(score(left, right) for score in COLUMNS.values())


def columns(table: str = "name") -> list[str]:
    """The score columns of sets in pairs ("name"), "removed" or "answer"; all of them must be known here."""
    every = SCORES["jaccard"]
    assert [column.name for column in every] == list(COLUMNS), "a column of pairs has no definition in tests/oracles.py"
    return [getattr(column, table) for column in every]


def scores_in(row: Mapping[str, Any], table: str = "name") -> Scores:
    """The scores in a row of a table."""
    return tuple(row[name] for name in columns(table))


def pairs(texts: Mapping[str, str | bytes | None], threshold: float, **words: Any) -> dict[tuple[str, str], Scores]:
    """Every two documents compared; those at or above the threshold, left before right in the mapping's order."""
    sets = {name: shingle_set(text, **words) for name, text in texts.items()}
    return pairs_of_sets(sets, threshold)


def pairs_of_sets(sets: Mapping[str, frozenset[Any]], threshold: float) -> dict[tuple[str, str], Scores]:
    """As `textbook.all_pairs`, but only sets that share something are compared, so that thousands can be."""
    holders: dict[Any, list[str]] = {}
    met: Counter[tuple[str, str]] = Counter()
    for right, items in sets.items():
        for item in items:
            held = holders.setdefault(item, [])
            met.update((left, right) for left in held)
            held.append(right)
    found = {}
    for (left, right), shared in met.items():
        if shared / (len(sets[left]) + len(sets[right]) - shared) >= threshold:
            found[left, right] = scores(sets[left], sets[right])
    return found


def held_pairs(sets: Mapping[str, frozenset[Any]], containment: float) -> dict[tuple[str, str], Scores]:
    """Every two sets of which one holds at least this share of the other, left before right."""
    every = pairs_of_sets(sets, 0.0)
    return {pair: found for pair, found in every.items() if max(found[1:]) >= containment}


def kept_of_held(
    sets: Mapping[str, frozenset[Any]], containment: float, least: int, order: Sequence[str]
) -> dict[str, str]:
    """Documents removed by containment, each with the kept one that holds it: larger sets first, then `order`."""
    kept: list[str] = []
    removed = {}
    for name in sorted((one for one in order if sets[one]), key=lambda one: (-len(sets[one]), order.index(one))):
        holders = [one for one in kept if textbook.containment(sets[name], sets[one]) >= containment]
        if holders and len(sets[name]) >= least:
            removed[name] = holders[0]
        elif len(sets[name]) >= least:
            kept.append(name)
    return removed


# The index


def stored_keys(slots: Sequence[int], bands: int, rows: int) -> list[int]:
    """Band keys as an index keeps them: the upper half of each, read as a signed number."""
    upper = [band_key(slots, band, rows) >> 32 for band in range(bands)]
    return [key - 2**32 if key >= 2**31 else key for key in upper]


def answers(
    sets: Mapping[str, frozenset[Any]], query: frozenset[Any], threshold: float = 0.0, k: int | None = None
) -> list[tuple[Any, ...]]:
    """A query against every set: id and scores; best first, ties in their order.

    What has nothing in common is no answer.
    """
    found = [(id, *scores(query, one)) for id, one in sets.items()]
    near = [row for row in found if row[1] > 0 and row[1] >= threshold]
    return sorted(near, key=lambda row: -row[1])[:k]


# Clusters: documents are ranks, an edge is (later rank, earlier rank).

Edge = tuple[int, int]


def leaders(documents: int, edges: Iterable[Edge]) -> list[int]:
    """Each document falls to the first kept one it has an edge with; without one it is kept."""
    return list(textbook.leader_clusters(range(documents), edges).values())


def complete(documents: int, edges: Iterable[Edge]) -> list[int]:
    """Each document joins the first cluster with every member of which it has an edge."""
    return list(textbook.complete_clusters(range(documents), edges).values())


def components(documents: int, edges: Iterable[Edge]) -> list[int]:
    """The least document that each hangs together with."""
    return list(textbook.connected_components(range(documents), edges).values())


def forced_complete(documents: int, edges: Iterable[Edge], forced: Iterable[Edge]) -> list[int]:
    """As `complete`, but by a forced edge with a leader each document joins its cluster, the first such."""
    near, must = {frozenset(edge) for edge in edges}, {frozenset(edge) for edge in forced}
    clusters: list[list[int]] = []
    for this in range(documents):
        by_force = [one for one in clusters if frozenset((this, one[0])) in must]
        fitting = [one for one in clusters if all(frozenset((this, member)) in near for member in one)]
        if by_force or fitting:
            (by_force or fitting)[0].append(this)
        else:
            clusters.append([this])
    return [next(one[0] for one in clusters if this in one) for this in range(documents)]


def parted_components(documents: int, edges: Iterable[Edge], parted: Iterable[Edge]) -> list[int]:
    """The first document that is left leads all that a chain links with it, past none that is parted from it."""
    near, apart = {frozenset(edge) for edge in edges}, {frozenset(edge) for edge in parted}
    leader: dict[int, int] = {}
    for first in range(documents):
        waiting = [] if first in leader else [first]
        while waiting:
            this = waiting.pop()
            if this in leader or frozenset((first, this)) in apart:
                continue
            leader[this] = first
            waiting += [other for other in range(documents) if frozenset((this, other)) in near]
    return [leader[this] for this in range(documents)]


def collapsed(sets: Sequence[frozenset[Any]], threshold: float) -> list[tuple[int, float]]:
    """For each result of a ranking the first unfolded one that it is near to, and how near; itself if there is none."""
    found: list[tuple[int, float]] = []
    for place, one in enumerate(sets):
        heads = (head for head in range(place) if found[head][0] == head)
        near = ((head, textbook.jaccard(one, sets[head])) for head in heads if one)
        found.append(next(((head, score) for head, score in near if score >= threshold), (place, 1.0)))
    return found


# The audit


def meetings(sets: Sequence[set[int]], few: Sequence[set[int]], threshold: float) -> list[tuple[int, int, int]]:
    """(set, one of the few, what they share) wherever their similarity reaches the threshold."""
    found = []
    for i, one in enumerate(sets):
        for j, other in enumerate(few):
            shared = len(one & other)
            if shared and shared / (len(one) + len(other) - shared) >= threshold:
                found.append((i, j, shared))
    return found


# Bit codes


def bit_salt(word: int, seed: int) -> int:
    state = ((word + 1 + seed) & BITS_64) * MIX_A & BITS_64
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & BITS_64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & BITS_64
    return state ^ (state >> 31)


def simhash(hashes: Sequence[int], words: int, seed: int, weight: Callable[[int], int] = lambda _: 1) -> list[int]:
    """The words of a SimHash code: each shingle votes for its own bits and against the others."""
    code = []
    for word in range(words):
        salt, found = bit_salt(word, seed), 0
        for bit in range(64):
            votes = sum(weight(x) if fmix64(x ^ salt) >> bit & 1 else -weight(x) for x in hashes)
            factor = fmix64((salt + bit) & BITS_64) | 1
            if hashes and votes == 0:
                chosen = min(hashes, key=lambda x: x * factor & BITS_64)
                votes = 1 if fmix64(chosen ^ salt) >> bit & 1 else -1
            found |= (votes > 0) << bit
        code.append(found)
    return code


def differing_codes(one: Sequence[int], other: Sequence[int]) -> int:
    """In how many bits two codes, given as words, differ."""
    return sum((a ^ b).bit_count() for a, b in zip(one, other, strict=True))


def near_codes(codes: Sequence[Sequence[int]], distance: int) -> set[tuple[int, int, int]]:
    """(place, later place, bits in which they differ) of all pairs within a distance."""
    found = set()
    for i, j in combinations(range(len(codes)), 2):
        bits = differing_codes(codes[i], codes[j])
        if bits <= distance:
            found.add((i, j, bits))
    return found


def near_codes_across(
    left: Sequence[Sequence[int]], right: Sequence[Sequence[int]], distance: int
) -> set[tuple[int, int, int]]:
    """(place on the left, place on the right, bits in which they differ) of all pairs within a distance."""
    every = ((i, j, differing_codes(one, other)) for i, one in enumerate(left) for j, other in enumerate(right))
    return {pair for pair in every if pair[2] <= distance}


def nearest_codes(codes: Sequence[Sequence[int]], query: Sequence[int], k: int) -> list[tuple[int, int]]:
    """(bits in which they differ, place) of the k codes nearest to a query."""
    return sorted((differing_codes(code, query), place) for place, code in enumerate(codes))[:k]


def edit_distance(left: Sequence[object], right: Sequence[object]) -> int:
    """The fewest insertions, deletions and replacements that turn one sequence into the other, row by row."""
    row = list(range(len(right) + 1))
    for number, one in enumerate(left, 1):
        before, row[0] = row[0], number
        for at, other in enumerate(right, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (one != other))
    return row[-1]


def squeezed_bits(code: Sequence[int], masks: Sequence[int]) -> int:
    """The bits of a code under the masks, pushed together, the lowest first."""
    places = [(word, bit) for word, mask in enumerate(masks) for bit in range(64) if mask >> bit & 1]
    return sum((code[word] >> bit & 1) << place for place, (word, bit) in enumerate(places))


# Vectors


def normal_number(seed: int, number: int) -> float:
    """Box and Muller, from two hashed counters, rounded to a 4096th."""
    salt = fmix64((seed + MIX_A) & BITS_64)
    pair = number // 2 * 2
    one, other = (fmix64(salt ^ ((pair + i) * MIX_A & BITS_64)) for i in (1, 2))
    radius = math.sqrt(-2 * math.log(((one >> 11) + 1) * 2.0**-53))
    angle = 2 * math.pi * (other >> 11) * 2.0**-53
    value = radius * (math.sin(angle) if number % 2 else math.cos(angle))
    return math.floor(value * 4096 + 0.5) / 4096


def uniform_number(seed: int, number: int) -> float:
    return (fmix64(fmix64(seed ^ ROUND_MIX) ^ ((number + 1) * MIX_A & BITS_64)) >> 11) * 2.0**-53


def folded(terms: Sequence[float]) -> float:
    """A sum: the upper half is added to the lower, and an odd one to the first, until one is left."""
    left = list(terms)
    while len(left) > 1:
        half = len(left) // 2
        rest = left[2 * half :]
        left = [a + b for a, b in zip(left[:half], left[half : 2 * half], strict=True)]
        if rest:
            left[0] += rest[0]
    return left[0]


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """None is similar to a vector without direction."""
    squares = [folded([x * x for x in vector]) for vector in (left, right)]
    if 0 in squares:
        return -2.0
    product = folded([a * b for a, b in zip(left, right, strict=True)])
    return min(max(product / math.sqrt(squares[0] * squares[1]), -1.0), 1.0)


def distance(left: Sequence[float], right: Sequence[float]) -> float:
    return math.sqrt(folded([(a - b) * (a - b) for a, b in zip(left, right, strict=True)]))


def probe_costs(costs: Sequence[float], groups: Sequence[int]) -> list[tuple[float, frozenset[int]]]:
    """Every set of moves with at most one of each group, with its cost, the cheapest first; the empty set included."""
    found = []
    for size in range(len(costs) + 1):
        for some in combinations(range(len(costs)), size):
            if len({groups[move] for move in some}) == size:
                total = 0.0
                for move in sorted(some, key=lambda move: costs[move]):
                    total += costs[move]
                found.append((total, frozenset(some)))
    return sorted(found, key=lambda one: one[0])


def hadamard(vector: Sequence[float]) -> list[float]:
    """The Walsh–Hadamard transform, by halves."""
    if len(vector) == 1:
        return list(vector)
    half = len(vector) // 2
    low, high = hadamard(vector[:half]), hadamard(vector[half:])
    return [a + b for a, b in zip(low, high, strict=True)] + [a - b for a, b in zip(low, high, strict=True)]


def rotated(vector: Sequence[float], signs: Sequence[Sequence[float]], order: Sequence[int]) -> list[float]:
    """Signs and transforms, in turn, of a vector filled up with zeros; in between the coordinates change places."""
    found = [*vector, *[0.0] * (len(signs[0]) - len(vector))]
    for turn, one in enumerate(signs):
        if turn:
            found = [found[place] for place in order]
        found = hadamard([sign * x for sign, x in zip(one, found, strict=True)])
    return found


def corner(values: Sequence[float]) -> list[int]:
    """The corners of a cross-polytope, nearest first: 2j or 2j+1 for plus or minus axis j."""
    order = sorted(range(len(values)), key=lambda j: (-abs(values[j]), j))
    return [2 * j + (values[j] < 0) for j in order]


def strip_hash(function: int, strip: int) -> int:
    return fmix64(((function + 1) * 0xD1B54A32D192ED03 ^ strip * 0xC2B2AE3D27D4EB4F) & BITS_64)


def looked_up(
    tried: Sequence[Sequence[int]], held: Sequence[int], left: Sequence[int], right: Sequence[int], most: int
) -> set[tuple[int, int]]:
    """(row, position) wherever a row tries the key that the position has, and their signatures are near enough."""
    return {
        (row, place)
        for row, keys in enumerate(tried)
        for place, key in enumerate(held)
        if key in keys and (left[row] ^ right[place]).bit_count() <= most
    }


# Weighted sets


def dart_octaves(weight: float, deepest: int) -> list[tuple[int, float]]:
    """(octave, how much of it lies below the weight) from the weight's own octave down."""
    fraction, exponent = math.frexp(weight)
    top = exponent - 1
    every = [(top, 2 * fraction - 1), *((v, 1.0) for v in range(top - 1, deepest - 1, -1))]
    return [one for one in every if one[0] >= deepest]


def octave_darts(element: int, octave: int, most: float) -> list[tuple[float, float, int]]:
    """(rank, place in the octave, hash) of the darts of one octave of an element up to a rank, lowest first."""
    number = octave + 2048
    word = fmix64((element + (number >> 3) * WHOLE) & BITS_64)
    state = fmix64(element ^ number * MIX_B & BITS_64)
    first = (word >> (number & 7) * 8 & 255) << 56 | state >> 8
    arrival = -math.log1p(-(float(first) + 0.5) * 2.0**-64)
    found = []
    count = 0
    while arrival <= most:
        count += 1
        dart = fmix64((state + count * MIX_A) & BITS_64)
        found.append((arrival, ((dart * MIX_B & BITS_64) >> 12) * 2.0**-52, dart))
        arrival -= math.log((dart * WHOLE & BITS_64 | 1) * 2.0**-64)
    return found


def dart_sketch(weights: Mapping[int, float], k: int, seed: int) -> list[int]:
    """All darts below the weights, far more than are needed; of each slot that of least rank."""
    slots: list[tuple[float, int]] = [(math.inf, EMPTY_SLOT)] * k
    if not weights:
        return [EMPTY_SLOT] * k
    salt = fmix64(seed ^ ROUND_SEED)
    unit = math.frexp(math.fsum(weights.values()))[1] - 1
    most = k * (math.log(k) + 20.0)
    for x, weight in weights.items():
        for octave, share in dart_octaves(weight, unit - 63):
            scale = 2.0 ** (unit - octave)
            for arrival, place, dart in octave_darts(fmix64(x ^ salt), octave, most / scale):
                if place < share:
                    slot = (dart >> 32) * k >> 32
                    slots[slot] = min(slots[slot], (arrival * scale, min(dart & BITS_32, EMPTY_SLOT - 1)))
    return [value for _, value in slots]


weighted_jaccard = textbook.weighted_jaccard


def icws(weights: Sequence[float], draws: Sequence[tuple[float, float, float]]) -> tuple[int, int]:
    """One sample by Ioffe (2010): the element sampled, and its whole number t.

    draws: r and c from Gamma(2, 1), and β from 0 to 1, for each element.
    """
    found = []
    for place, (weight, (r, c, beta)) in enumerate(zip(weights, draws, strict=True)):
        if weight > 0:
            t = math.floor(math.log(weight) / r + beta)
            found.append((c / math.exp(r * (t - beta) + r), place, t))
    return min(found)[1:]


bottom_k, bottom_k_estimate = textbook.bottom_k, textbook.bottom_k_similarity


# Pictures


def cell_means(pixels: Sequence[Sequence[Sequence[int]]], side: int) -> list[list[list[Fraction]]]:
    """The mean colours of side × side cells; each pixel counts as much as it lies in a cell, opacity over white."""
    height, width = len(pixels), len(pixels[0])

    def overlap(cell: int, pixel: int, count: int) -> Fraction:
        start, end = Fraction(cell * count, side), Fraction((cell + 1) * count, side)
        return max(Fraction(0), min(end, Fraction(pixel + 1)) - max(start, Fraction(pixel)))

    def shown(pixel: Sequence[int]) -> list[Fraction]:
        colours = pixel if len(pixel) in (1, 3) else pixel[:-1]
        cover = Fraction(255 if len(pixel) in (1, 3) else pixel[-1], 255)
        found = [cover * colour + (1 - cover) * 255 for colour in colours]
        return found if len(found) == 3 else found * 3

    area = Fraction(height, side) * Fraction(width, side)
    means = [[[Fraction(0)] * 3 for _ in range(side)] for _ in range(side)]
    for y in range(height):
        for x in range(width):
            colour = shown(pixels[y][x])
            for row in range(side):
                for column in range(side):
                    part = overlap(row, y, height) * overlap(column, x, width) / area
                    if part:
                        means[row][column] = [a + part * b for a, b in zip(means[row][column], colour, strict=True)]
    return means


def cosine_coefficient(grid: Sequence[Sequence[float]], u: int, v: int) -> float:
    """One coefficient of the orthonormal cosine transform of a square grid."""
    side = len(grid)
    scale = math.sqrt((2 if u else 1) * (2 if v else 1)) / side
    return scale * math.fsum(
        grid[i][j] * math.cos(math.pi * (2 * i + 1) * u / (2 * side)) * math.cos(math.pi * (2 * j + 1) * v / (2 * side))
        for i in range(side)
        for j in range(side)
    )


def perceptual_hash(grid: Sequence[Sequence[float]]) -> list[float]:
    """What the signs of are the bits: each weighted coefficient sixteen times, and all with signs of their own."""
    order = sorted(((u, v) for u in range(11) for v in range(11) if u + v), key=lambda place: (sum(place), place))
    values = [cosine_coefficient(grid, u, v) * (u + v) for u, v in order[:64]]
    found = []
    for i in range(64):
        signs = fmix64((i + 1) * MIX_A & BITS_64)
        found.append(16 * values[i] + math.fsum(x if signs >> j & 1 else -x for j, x in enumerate(values)))
    return found


def colour_layout(grid: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    """21 coefficients of the luminance and 6 of each colour, of the mean colours of 8 × 8 cells."""
    step = len(grid) // 8
    found = []
    for channel, most in ((0, 5), (1, 2), (2, 2)):
        small = [
            [
                math.fsum(grid[step * i + a][step * j + b][channel] for a in range(step) for b in range(step)) / step**2
                for j in range(8)
            ]
            for i in range(8)
        ]
        found += [cosine_coefficient(small, u, total - u) / 8 for total in range(most + 1) for u in range(total + 1)]
    return found


# Long tables


def grouped(
    rows: Iterable[tuple[str, str, float]], *, bag: bool = False, weighted: bool = False
) -> dict[str, list[str] | dict[str, float]]:
    """The groups of rows (group, element, weight), in the order in which they first appear.

    A set or bag is a sorted list of elements; a weighted set says how much each element counts, which is more than 0.
    """
    found: dict[str, list[tuple[str, float]]] = {}
    for group, element, weight in rows:
        found.setdefault(group, []).append((element, weight))
    if weighted:
        sums = {
            group: {one: sum(sorted(weight for name, weight in pairs if name == one)) for one, _ in pairs}
            for group, pairs in found.items()
        }
        return {group: {one: total for one, total in weights.items() if total} for group, weights in sums.items()}
    elements = {group: [element for element, _ in pairs] for group, pairs in found.items()}
    return {group: sorted(every if bag else set(every)) for group, every in elements.items()}


# Passages


def placed_words(text: str, **steps: bool) -> list[tuple[str, int, int]]:
    """The words of a text that NFC does not change, each with its first and last place (exclusive)."""
    normal = textbook.normalize(text, **steps)
    assert len(normal) == len(text)
    found, at = [], 0
    for word in textbook.tokens(normal):
        start = normal.index(word, at)
        at = start + len(word)
        found.append((word, start, at))
    return found


def without_holes(text: str, holes: Sequence[tuple[int, int]], mark: str) -> str:
    """A text without spans, in order; a mark between any two remaining pieces that are not blank."""
    places = [0, *(place for hole in holes for place in hole), len(text)]
    pieces = [text[places[at] : places[at + 1]] for at in range(0, len(places), 2)]
    found = pieces[0]
    for number in range(1, len(pieces)):
        between = any(piece.strip() for piece in pieces[:number]) and any(piece.strip() for piece in pieces[number:])
        found += (mark if between else "") + pieces[number]
    return found


Passage = tuple[int, int, int, int, int]
"""First and last word (exclusive) of the left side, the same of the right side, and the words in common."""


def joined_passages(left: Sequence[str], right: Sequence[str], least: int, run: int, gap: int) -> set[Passage]:
    """Runs of at least `run` words, joined with the nearest ones over at most `gap` words on each side, and merged.

    Where runs of one side overlap, the side with fewer words in runs counts.
    """
    held: set[tuple[int, int]] = set()
    chains = []
    for i, j, n in sorted(textbook_passages.maximal_runs(left, right, run)):
        if (i, j) not in held:
            chains.append(_chain(left, right, (i, j, n), run, gap))
            held |= {(x, y) for x, y, _ in chains[-1]}
    while near := next((two for two in combinations(chains, 2) if _are_near(*two, gap)), None):
        chains = [one for one in chains if one not in near] + [[*near[0], *near[1]]]
    found = set()
    for chain in chains:
        shared = min(len({word for run in chain for word in range(run[side], run[side] + run[2])}) for side in (0, 1))
        if shared >= least:
            found.add((*_box(chain), shared))
    return found


def _chain(
    left: Sequence[str], right: Sequence[str], first: tuple[int, int, int], run: int, gap: int
) -> list[tuple[int, int, int]]:
    """A run, with the nearest one after it, the nearest after that, and so on, and the same before it."""
    chain = [first]
    steps = sorted(((p, q) for p in range(gap + 1) for q in range(gap + 1)), key=lambda step: (sum(step), step))

    def equal(x: int, y: int) -> bool:
        return 0 <= x < len(left) and 0 <= y < len(right) and left[x] == right[y]

    x, y = first[0] + first[2], first[1] + first[2]
    while step := next((s for s in steps if all(equal(x + s[0] + w, y + s[1] + w) for w in range(run))), None):
        x, y, n = x + step[0], y + step[1], 0
        while equal(x + n, y + n):
            n += 1
        chain.append((x, y, n))
        x, y = x + n, y + n
    x, y = first[:2]
    while step := next((s for s in steps if all(equal(x - s[0] - w - 1, y - s[1] - w - 1) for w in range(run))), None):
        x, y, n = x - step[0], y - step[1], 0
        while equal(x - n - 1, y - n - 1):
            n += 1
        x, y = x - n, y - n
        chain.append((x, y, n))
    return chain


def _box(chain: Sequence[tuple[int, int, int]]) -> tuple[int, int, int, int]:
    starts, ends = [(x, y) for x, y, _ in chain], [(x + n, y + n) for x, y, n in chain]
    return min(x for x, _ in starts), max(x for x, _ in ends), min(y for _, y in starts), max(y for _, y in ends)


def _are_near(one: Sequence[tuple[int, int, int]], other: Sequence[tuple[int, int, int]], gap: int) -> bool:
    """Whether both sides of two passages overlap or are at most `gap` words apart."""
    a, b = _box(one), _box(other)
    return max(a[0], b[0]) - min(a[1], b[1]) <= gap and max(a[2], b[2]) - min(a[3], b[3]) <= gap


def holders(documents: Sequence[Sequence[str]], words: Sequence[str]) -> int:
    """How many documents have these words in a row."""
    n = len(words)
    return sum(any(list(one[at : at + n]) == list(words) for at in range(len(one) - n + 1)) for one in documents)


def host_pairs(hosts: list[int], pairs: list[tuple[int, int]]) -> list[list[int]]:
    """Pairs of hosts with near-duplicate pages: their pages, the pairs, and the pages of each that have one."""
    by_hosts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for pair in pairs:
        one, other = sorted(hosts[page] for page in pair)
        if -1 < one < other:
            by_hosts.setdefault((one, other), []).append(pair)
    rows = []
    for both, mine in by_hosts.items():
        matched = {page for pair in mine for page in pair}
        of_each = [sum(hosts[page] == host for page in matched) for host in both]
        rows.append([*both, *(hosts.count(host) for host in both), len(mine), *of_each])
    return sorted(rows, key=lambda row: (-max(row[5] / row[2], row[6] / row[3]), -row[4], row[0], row[1]))
