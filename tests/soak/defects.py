"""Small deliberate defects, one line each, and the tests that have to notice them.

`mutations.py` applies one at a time to a copy of the tree. Old text must occur exactly once in its file: where the code
has changed, the defect is to be stated anew. Every defect changes what the program does; none is only slower.
"""

from __future__ import annotations

from typing import NamedTuple


class Defect(NamedTuple):
    """One change of one file below src/twinset, or of website/…, and the tests that must fail with it."""

    file: str
    old: str
    new: str
    tests: str


_SIZES = "tests/system/test_batch_sizes.py"
_REPLACE = "tests/documents/formats/test_replace_texts"

BATCHES = [
    Defect(
        "pairs/sets_kernels.py",
        "max(n_left, n_right) * SLACK",
        "max(n_left, n_right)",
        "tests/pairs/test_sets.py",
    ),
    Defect(
        "compiled/set_kernels.py",
        "spare = total - np.int64(threshold",
        "spare = total - 2 - np.int64(threshold",
        "tests/pairs/test_sets.py",
    ),
    Defect(
        "pairs/sets.py",
        "(2 * longest).bit_length()",
        "longest.bit_length()",
        "tests/pairs/test_sets.py::test_a_table_has_room_for_what_the_kernel_clears",
    ),
    Defect(
        "engines/local/steps/verify.py",
        "slice(start, start + many)",
        "slice(start, start + many - 1)",
        f"{_SIZES}::test_pairs_of_a_family_larger_than_one_slice",
    ),
    Defect(
        "index/backend.py",
        "if len(listed) == 1:",
        "if len(listed) >= 1:",
        f"{_SIZES}::test_more_answers_than_one_portion",
    ),
    Defect(
        "index/write.py",
        "numbers[first : first + batch_sizes.INDEX_DOCUMENTS]",
        "numbers[first : first + batch_sizes.INDEX_DOCUMENTS - 1]",
        f"{_SIZES}::test_adding_more_documents_than_one_chunk_again",
    ),
    Defect(
        "engines/local/write/tables.py",
        "removed[start : start + batch_sizes.TABLE_ROWS]",
        "removed[start : start + batch_sizes.TABLE_ROWS - 1]",
        f"{_SIZES}::test_every_document_of_a_result_has_a_row",
    ),
    Defect(
        "engines/local/steps/read.py",
        "done.replaced[: batch_sizes.NAMED - len(replaced_in)]",
        "done.replaced[: batch_sizes.NAMED]",
        f"{_SIZES}::test_names_are_capped_over_all_batches",
    ),
    Defect(
        "engines/local/copies.py",
        "        at = end\n",
        "        at = end + 1\n",
        "tests/engines/local/test_copies.py",
    ),
    Defect(
        "index/kinds/text_queries.py",
        "min(first + many, len(queries))",
        "min(first + many, len(queries) - 1)",
        "tests/index/kinds/test_text_queries.py -k sqlite",
    ),
]

RESULTS = [
    Defect(
        "engines/local/copies.py",
        "keys = np.stack([texts[copied], self.first[copied].astype(np.uint64)], axis=1)",
        "keys = np.stack([self.first[copied].astype(np.uint64)] * 2, axis=1)",
        "tests/jobs/test_verbatim.py",
    ),
    Defect(
        "documents/normalize_kernels.py",
        "_turned(h ^ word * _P1, 23)",
        "_turned(h ^ word * _P1, 24)",
        "tests/documents/test_normalize.py",
    ),
    Defect(
        "engines/local/write/tables.py",
        "enumerate(corpus.parts[:own_parts])",
        "enumerate(corpus.parts)",
        "tests/jobs/test_dedup_against.py",
    ),
]

INTERVALS = [
    Defect(
        "pairs/audit/recall_interval.py",
        "tail = (1.0 - LEVEL) / 2.0",
        "tail = 1.0 - LEVEL",
        "tests/pairs/audit/test_recall_interval.py -k scipy",
    ),
    Defect(
        "pairs/audit/recall_interval.py",
        "return rest**3 * by_document",
        "return rest**2 * by_document",
        "tests/pairs/audit/test_recall_interval.py -k scipy",
    ),
    Defect(
        "pairs/audit/recall_interval.py",
        "    seen /= (_student",
        "    seen *= (_student",
        "tests/pairs/audit/test_recall_interval.py -k scipy",
    ),
    Defect(
        "pairs/audit/recall_interval.py",
        "pairs_of.sum(), 0.5)",
        "pairs_of.sum(), 0.9)",
        "tests/pairs/audit/test_recall_interval.py -k scipy",
    ),
    Defect(
        "pairs/audit/recall_interval.py",
        "_ENOUGH = 15.0",
        "_ENOUGH = 1.0",
        "tests/pairs/audit/test_recall_interval.py -k scipy",
    ),
    Defect(
        "evaluation/sweep.py",
        "families / (families - 1) *",
        "",
        "tests/evaluation/test_sweep.py",
    ),
    Defect(
        "evaluation/sweep.py",
        "spread / (4 * count)",
        "spread / count",
        "tests/evaluation/test_sweep.py",
    ),
    Defect(
        "evaluation/sweep.py",
        "enough = found.similarity >= threshold\n",
        "enough = found.similarity > threshold\n",
        "tests/evaluation/test_sweep.py",
    ),
    Defect(
        "evaluation/sweep.py",
        'np.searchsorted(ordered, cut, side="left")',
        'np.searchsorted(ordered, cut, side="right")',
        "tests/evaluation/test_sweep.py",
    ),
    Defect(
        "evaluation/metrics.py",
        "return self.both / self.found if",
        "return self.both / self.true if",
        "tests/evaluation/test_metrics.py",
    ),
    Defect(
        "evaluation/metrics.py",
        "above = 2 * (both * neither - only_found * only_true)",
        "above = 2 * (both * neither + only_found * only_true)",
        "tests/evaluation/test_metrics.py",
    ),
    Defect(
        "evaluation/metrics.py",
        "(self.both == self.found) & (self.both == self.true)",
        "self.both == self.found",
        "tests/evaluation/test_metrics.py",
    ),
    Defect(
        "evaluation/metrics.py",
        "squares / self.true).sum()",
        "squares / self.found).sum()",
        "tests/evaluation/test_metrics.py",
    ),
    Defect(
        "evaluation/metrics.py",
        "size * (size - 1) // 2 * count",
        "size * (size - 1) // 2",
        "tests/evaluation/test_metrics.py",
    ),
]

PLANS = [
    Defect(
        "plan/bands.py",
        "-math.expm1(n_bands * math.log1p(-one))",
        "-math.expm1((n_bands - 1) * math.log1p(-one))",
        "tests/plan/test_bands.py",
    ),
    Defect(
        "plan/bands.py", "return similarity + (1 - similarity) / 256", "return similarity", "tests/plan/test_bands.py"
    ),
    Defect(
        "plan/bands.py",
        "        if below > loss:\n            return count",
        "        if below > loss:\n            return count + 1",
        "tests/plan/test_bands.py",
    ),
    Defect(
        "plan/bands.py",
        "options.recall / (1 - _loss(options))",
        "options.recall * (1 - _loss(options))",
        "tests/plan/test_bands.py",
    ),
    Defect(
        "plan/bands.py",
        "return min(LEAST_LOSS, (1 - options.recall) / 10)",
        "return LEAST_LOSS",
        "tests/plan/test_bands.py",
    ),
    Defect(
        "plan/bands.py",
        "(1 / self.n_bands) ** (1 / self.rows_per_band)",
        "(1 / self.n_bands) ** self.rows_per_band",
        "tests/plan/test_bands.py tests/cli/test_plan.py",
    ),
    Defect(
        "plan/bands.py",
        "while band_probability(threshold, bands, rows) < target:",
        "while False:",
        "tests/plan/test_bands.py",
    ),
    Defect("plan/codes.py", "/ math.pi", "/ 3.14", "tests/plan/test_codes.py"),
    Defect("plan/codes.py", "for d in range(distance + 1)))", "for d in range(distance)))", "tests/plan/test_codes.py"),
    Defect(
        "plan/codes.py",
        "within_probability(threshold, bits, d) >= recall)",
        "within_probability(threshold, bits, d) >= 0.99 * recall)",
        "tests/plan/test_codes.py",
    ),
]

KERNELS = [
    Defect(
        "sketches/minhash_kernels.py",
        "tag = V(number) << V(30)",
        "tag = V(0)",
        "tests/sketches/test_kernels.py tests/sketches/test_golden.py",
    ),
    Defect(
        "sketches/minhash_kernels.py",
        "U(j + 4) * ROUND_SEED",
        "U(j + 3) * ROUND_SEED",
        "tests/sketches/test_kernels.py tests/sketches/test_golden.py",
    ),
    Defect(
        "sketches/minhash_kernels.py",
        "slots[slot] = min(slots[slot], V(h >> U(34)))",
        "slots[slot] = V(h >> U(34))",
        "tests/sketches/test_kernels.py",
    ),
    Defect(
        "sketches/minhash_kernels.py",
        "left[j] == right[j] and left[j] != EMPTY",
        "left[j] == right[j]",
        "tests/sketches/test_kernels.py tests/sketches/test_conformance.py",
    ),
    Defect(
        "sketches/minhash_kernels.py",
        "out[row, j] = np.uint8(sketches[row, j] & V(0xFF))",
        "out[row, j] = np.uint8(sketches[row, j] & V(0x7F))",
        "tests/sketches/test_kernels.py tests/sketches/test_conformance.py",
    ),
    Defect("sketches/bottom_k_kernels.py", "if x <= bound:", "if x < bound:", "tests/sketches/test_bottom_k.py"),
    Defect(
        "sketches/bottom_k_kernels.py", "while seen < k and", "while seen <= k and", "tests/sketches/test_bottom_k.py"
    ),
    Defect(
        "sketches/bottom_k_kernels.py",
        "bound = smallest[k - 1]",
        "bound = smallest[k - 2]",
        "tests/sketches/test_bottom_k.py",
    ),
    Defect(
        "sketches/simhash_kernels.py",
        "for first in range(start, end, 255):",
        "for first in range(start, end, 257):",
        "tests/sketches/test_simhash.py",
    ),
    Defect(
        "sketches/simhash_kernels.py",
        "if 2 * votes[bit] > total:",
        "if 2 * votes[bit] >= total:",
        "tests/sketches/test_simhash.py",
    ),
    Defect(
        "clusters/group_kernels.py",
        "        if a < b:\n            parents[b] = a",
        "        if a < b:\n            parents[a] = b",
        "tests/clusters/test_group.py",
    ),
    Defect(
        "clusters/group_kernels.py",
        "and leader[earlier[i]] == earlier[i]:",
        "or leader[earlier[i]] == earlier[i]:",
        "tests/clusters/test_group.py",
    ),
    Defect(
        "clusters/group_kernels.py", "tally[head] == sizes[head]", "tally[head] >= 1", "tests/clusters/test_group.py"
    ),
    Defect(
        "clusters/group_kernels.py",
        "            tally[leader[earlier[i]]] = 0",
        "            tally[leader[earlier[i]]] = 1",
        "tests/clusters/test_group.py",
    ),
    Defect("compiled/set_kernels.py", "SLACK = 1.0 - 1e-12", "SLACK = 1.0 + 1e-9", "tests/clusters/test_collapse.py"),
    Defect(
        "clusters/collapse_kernels.py",
        "if excluded or j >= np.int64(leader[i]):",
        "if excluded:",
        "tests/clusters/test_collapse.py",
    ),
    Defect(
        "clusters/collapse_kernels.py",
        "word ^= other[j + fold * size]",
        "word |= other[j + fold * size]",
        "tests/clusters/test_collapse.py",
    ),
    Defect("clusters/keep.py", "np.lexsort(keys[::-1])", "np.lexsort(keys)", "tests/clusters/test_keep.py"),
    Defect(
        "clusters/keep.py",
        'tiebreaker="dense"',
        'tiebreaker="first"',
        "tests/clusters/test_keep.py tests/jobs/test_dedup.py",
    ),
    Defect(
        "candidates/banding_kernels.py",
        "for earlier in range(band):",
        "for earlier in range(band - 1):",
        "tests/candidates/test_banding.py",
    ),
    Defect(
        "candidates/banding_kernels.py",
        "range(0, size, 2040)",
        "range(0, size, 4080)",
        "tests/candidates/test_banding.py",
    ),
    Defect(
        "candidates/banding_kernels.py",
        "other = np.int64(before[other - 1])",
        "other = 0",
        "tests/candidates/test_banding.py",
    ),
    Defect(
        "candidates/banding_kernels.py",
        " == digests[position, 0]\n                    and digests[a, 1] == digests[position, 1]\n",
        " == digests[position, 0]\n",
        "tests/candidates/test_banding.py",
    ),
    Defect(
        "candidates/banding_kernels.py",
        "right_sketches[b]) >= least\n",
        "right_sketches[b]) > least\n",
        "tests/candidates/test_banding.py",
    ),
    Defect(
        "candidates/banding_kernels.py",
        "state[0], state[1], state[2] = part, right, other\n",
        "state[0], state[1], state[2] = part, right, np.int64(before[other - 1])\n",
        "tests/candidates/test_banding.py",
    ),
    Defect("compiled/set_kernels.py", "SLACK = 1.0 - 1e-12", "SLACK = 1.0 + 1e-9", "tests/candidates/test_prefix.py"),
    Defect(
        "candidates/prefix_kernels.py",
        "if members[middle] < lows[i]:",
        "if members[middle] <= lows[i]:",
        "tests/candidates/test_prefix.py",
    ),
    Defect(
        "candidates/hamming/blocks.py",
        "rest = distance - differing\n",
        "rest = distance - differing - 1\n",
        "tests/candidates/hamming/test_join.py",
    ),
    Defect(
        "candidates/hamming/blocks.py",
        "    if differing > distance:\n",
        "    if differing >= distance:\n",
        "tests/candidates/hamming/test_join.py",
    ),
    Defect(
        "shingles/texts_kernels.py",
        "h -= tokens[i] * top",
        "h -= tokens[i] * MIX_A",
        "tests/shingles/test_hashes.py tests/shingles/test_repeats.py",
    ),
    Defect(
        "shingles/texts_kernels.py",
        "last = spaces[c] | drop",
        "last = spaces[c]",
        "tests/shingles/test_hashes.py",
    ),
    Defect(
        "shingles/texts_kernels.py",
        "last = space | drop\n    return n - 1 if n > 0 and last and spacing == SQUEEZE else n",
        "last = space | drop\n    return n",
        "tests/shingles/test_hashes.py tests/shingles/test_repeats.py",
    ),
    Defect(
        "shingles/texts_kernels.py",
        "counts[place] += 1\n",
        "counts[place] = 1\n",
        "tests/shingles/test_hashes.py tests/shingles/test_repeats.py",
    ),
    Defect(
        "shingles/words_kernels.py",
        "carry = mask >> U(63)",
        "carry = U(0)",
        "tests/shingles/test_hashes.py tests/shingles/test_repeats.py",
    ),
    Defect(
        "shingles/words_kernels.py",
        "    while end - start > 16:\n",
        "    while end - start > 24:\n",
        "tests/shingles/test_hashes.py tests/shingles/test_repeats.py",
    ),
    Defect(
        "shingles/words_kernels.py",
        "inside = (mask >> U(length - 1)) & U(1) != U(0)",
        "inside = (mask >> U(63)) & U(1) != U(0)",
        "tests/shingles/test_hashes.py tests/shingles/test_repeats.py",
    ),
    Defect("pairs/weighted_kernels.py", "lost += (total - new) + x", "lost += 0.0", "tests/pairs/test_weighted.py"),
    Defect(
        "pairs/weighted_kernels.py",
        "spare_right -= max(y - x, 0.0)",
        "spare_right -= abs(y - x)",
        "tests/pairs/test_weighted.py",
    ),
    Defect(
        "pairs/weighted_kernels.py", "if score >= threshold:", "if score > threshold:", "tests/pairs/test_weighted.py"
    ),
    Defect(
        "pairs/vectors_kernels.py",
        "        if score <= radius:",
        "        if score < radius:",
        "tests/pairs/test_vectors.py",
    ),
    Defect(
        "pairs/vectors_kernels.py",
        "score == scores[place - 1] and number < numbers[place - 1]",
        "score == scores[place - 1] and number > numbers[place - 1]",
        "tests/pairs/test_vectors.py",
    ),
    Defect(
        "index/kinds/kernels.py",
        "(left[j] ^ right[j]) & mask == 0",
        "left[j] ^ right[j] == 0",
        "tests/index/kinds/test_kernels.py",
    ),
]

READING = [
    Defect(
        "documents/formats/byte_rows_kernels.py",
        "            fields[found] = 0 if blank else done + 1\n",
        "            fields[found] = done + 1\n",
        "tests/documents/formats/test_csv_files.py",
    ),
    Defect(
        "documents/formats/byte_rows_kernels.py",
        "                        if i + 1 < end and data[i + 1] == _QUOTE:",
        "                        if data[i + 1] != _QUOTE:",
        "tests/documents/formats/test_csv_files.py",
    ),
    Defect(
        "documents/formats/byte_rows_kernels.py",
        "            if c == _LF:\n                i += 1\n            ends[found] = i",
        "            ends[found] = i",
        "tests/documents/formats/test_round_trip.py",
    ),
    Defect(
        "documents/formats/byte_rows_kernels.py",
        "mode = IN_FIELD\n        if mode == FIELD_START and c == _QUOTE:",
        "mode = IN_FIELD\n        if c == _QUOTE:",
        "tests/documents/formats/test_csv_files.py",
    ),
    Defect(
        "documents/formats/byte_rows.py",
        "return self.first_line + self.data.count",
        "return self.data.count",
        "tests/documents/formats/test_malformed.py",
    ),
    Defect(
        "documents/formats/lines.py",
        "(data[ends - 1] == 13)",
        "(data[ends - 1] == 0)",
        "tests/documents/formats/test_round_trip.py tests/documents/test_finding.py",
    ),
    Defect(
        "documents/formats/csv_files.py",
        "done if mode == AFTER_CR else done + 1",
        "done + 1",
        "tests/documents/formats/test_csv_files.py tests/documents/formats/test_malformed.py",
    ),
    Defect(
        "documents/formats/npy.py",
        "if self.size < needed:",
        "if self.size < needed - self.row_bytes:",
        "tests/documents/items/test_measured_items.py -k npy",
    ),
    Defect(
        "documents/normalize_kernels.py",
        "c < 0xC2 or c > 0xF4",
        "c < 0xC0 or c > 0xF4",
        "tests/documents/test_normalize.py",
    ),
    Defect(
        "documents/normalize_kernels.py",
        "(0xD800 <= point <= 0xDFFF)",
        "(0xD800 < point <= 0xDFFF)",
        "tests/documents/test_normalize.py",
    ),
    Defect(
        "documents/normalize_kernels.py",
        "order != 0 and last > order",
        "order != 0 and last > order + 200",
        "tests/documents/test_normalize.py",
    ),
    Defect(
        "documents/normalize.py",
        "ends = np.where(np.asarray(array.is_null())[plain], starts, ends)",
        "ends = ends.copy()",
        "tests/documents/test_normalize.py",
    ),
    Defect(
        "documents/normalize.py",
        "unsettled = needs >= _NFC",
        "unsettled = needs == _NFC",
        "tests/documents/test_normalize.py",
    ),
    Defect("documents/compressed.py", "and len(name) > len(ending)", "", "tests/documents/test_finding.py"),
]

REPLACING = [
    Defect(
        "documents/fields.py",
        "values.filter(pc.invert(pc.is_in(values, value_set=present))).unique()",
        "values.unique()",
        "tests/documents/test_fields.py",
    ),
    Defect("documents/fields.py", "mask=null)", "mask=None)", f"{_REPLACE}_of_tables.py"),
    Defect(
        "documents/formats/arrow.py",
        "            if self._grows:\n",
        "            if False:\n",
        f"{_REPLACE}_of_tables.py",
    ),
    Defect("documents/formats/csv_files.py", "if not field or record", "if record", f"{_REPLACE}.py"),
    Defect(
        "documents/formats/jsonl.py",
        "values[key] = (value, at)",
        "values.setdefault(key, (value, at))",
        f"{_REPLACE}.py",
    ),
    Defect("documents/formats/lines.py", 'not ending.startswith(b"\\r")', "not ending", f"{_REPLACE}.py"),
    Defect("documents/formats/lines.py", '(b"" if data else b"\\n")', 'b""', f"{_REPLACE}.py"),
    Defect(
        "documents/formats/text_files.py", "self._copy or isinstance(file, ChangedFile)", "self._copy", f"{_REPLACE}.py"
    ),
    Defect("documents/encodings.py", "if mark and before.startswith(mark)", "if not mark", f"{_REPLACE}.py"),
]

WORDS = [
    Defect(
        "options/checks.py",
        "if isinstance(value, bool) or not least <= got <= most:",
        "if not least <= got <= most:",
        "tests/options",
    ),
    Defect(
        "options/checks.py",
        "(below is not None and got >= below)",
        "(below is not None and got > below)",
        "tests/options",
    ),
    Defect(
        "options/checks.py",
        "if not above < got or math.isinf(got):",
        "if got <= above or math.isinf(got):",
        "tests/options",
    ),
    Defect("options/checks.py", "(1024 if found[3] else 1000) **", "(1000 if found[3] else 1024) **", "tests/options"),
    Defect("options/checks.py", "not 1 <= int(found[2]) <= 10000", "not 0 <= int(found[2]) <= 10000", "tests/options"),
    Defect(
        "options/keep_rules.py",
        "if rules and KEEP_RULES[rules[-1][0]].final:",
        "if False:",
        "tests/options tests/clusters/test_keep.py",
    ),
    Defect("wording.py", "if units > below and (crosses or", "if units > below and (", "tests/test_wording.py"),
    Defect("wording.py", "value < limit <= (units", "value <= limit <= (units", "tests/test_wording.py"),
    Defect("wording.py", "% max(scale // _ROUND, 1) == 0", "% scale == 0", "tests/test_wording.py"),
    Defect("wording.py", "math.floor(value * scale + 0.5)", "math.floor(value * scale)", "tests/test_wording.py"),
    Defect(
        "report/numbers.py", "crosses |= (values < limit)", "crosses |= (values > limit)", "tests/test_wording.py"
    ),
    Defect(
        "report/numbers.py",
        "np.where(scores == 0, 1.0,",
        "np.where(scores < 0, 1.0,",
        "tests/report/test_numbers.py",
    ),
    Defect(
        "report/numbers.py",
        "_SIZES = (2, 3, 4, 5, 6, 11,",
        "_SIZES = (2, 3, 4, 5, 6, 12,",
        "tests/report/test_numbers.py",
    ),
    Defect("textbook/grouping.py", "if leader[other] == other)", "if True)", "tests/textbook/test_groups.py"),
    Defect(
        "textbook/grouping.py",
        "if all((name, one) in near for one in those))",
        "if any((name, one) in near for one in those))",
        "tests/textbook/test_groups.py",
    ),
]

INDEX = [
    Defect(
        "index/query.py",
        "order = order[rank < limits.k]",
        "order = order[rank <= limits.k]",
        "tests/index/kinds/test_text_queries.py -k sqlite",
    ),
    Defect(
        "index/query.py",
        "inside = first[order] >= limits.threshold if descending",
        "inside = first[order] > limits.threshold if descending",
        f"{_SIZES}::test_the_threshold_is_inclusive_from_end_to_end",
    ),
    Defect(
        "index/query.py",
        "if high == len(rows) or sum(map(len, parts)) >= most:",
        "if sum(map(len, parts)) >= most:",
        "tests/index/kinds/test_text_queries.py -k sqlite",
    ),
    Defect(
        "index/query.py",
        "np.not_equal(values[1:], values[:-1], out=first[1:])",
        "first[1:] = True",
        "tests/index/kinds/test_text_queries.py -k sqlite",
    ),
    Defect(
        "index/kinds/text_queries.py",
        "threshold * most * (1.0 - 1e-12)",
        "threshold * most",
        f"{_SIZES}::test_the_threshold_is_inclusive_from_end_to_end",
    ),
    Defect(
        "index/kinds/text_queries.py",
        "slack = 2 * _ERRORS * np.sqrt",
        "slack = 0.1 * _ERRORS * np.sqrt",
        "tests/index/kinds/test_text_queries.py -k however",
    ),
    Defect(
        "index/write.py",
        "            if others and not replace:\n",
        "            if False:\n",
        "tests/index/test_write.py -k sqlite",
    ),
    Defect(
        "index/write.py",
        "changed.added = len(new) - changed.replaced",
        "changed.added = len(new)",
        "tests/index/test_write.py -k sqlite",
    ),
    Defect(
        "index/write.py", "return number >= self._began or bool(", "return bool(", "tests/index/test_write.py -k sqlite"
    ),
]

_ALBUM = "tests/index/kinds/test_pictures.py -k sqlite"
_TURNED = "tests/engines/local/joins/test_orientations.py"

PICTURES = [
    Defect(
        "index/kinds/pictures.py",
        "count = (limits.k or 0) + (without is not None)",
        "count = limits.k or 0",
        _ALBUM,
    ),
    Defect("index/kinds/pictures.py", "if cached is None or cached.state != state:", "if cached is None:", _ALBUM),
    Defect(
        "index/kinds/pictures.py",
        "np.isfinite(lengths) & (lengths <= 3 * 256.0**2)",
        "np.isfinite(lengths)",
        _ALBUM,
    ),
    Defect("index/kinds/pictures.py", "super().keys(slots[:, :_HASH])", "super().keys(slots[:, _HASH:])", _ALBUM),
    Defect(
        "index/kinds/pictures.py",
        "found.take(np.lexsort((found.scores[0], found.numbers, found.queries)))",
        "found.take(np.lexsort((-found.scores[0], found.numbers, found.queries)))",
        _ALBUM,
    ),
    Defect("index/settings.py", "format=max(self.format, FORMAT)", "format=FORMAT", _ALBUM),
    Defect("index/settings.py", "else LAYOUTS if options.images else FORMAT", "else LAYOUTS", _ALBUM),
    Defect(
        "sketches/images.py",
        "turned = [grids, grids.transpose(0, 2, 1, 3)]",
        "turned = [grids, grids]",
        "tests/sketches/test_images.py",
    ),
    Defect(
        "engines/local/joins/orientations.py",
        "((0, border), (border, count)), ((border, count), (0, border))",
        "((0, border), (border, count))",
        _TURNED,
    ),
    Defect(
        "engines/local/joins/orientations.py",
        "((lefts, rights), (rights, lefts))",
        "((lefts, rights),)",
        _TURNED,
    ),
    Defect("engines/local/joins/orientations.py", "// _HASHES + first", "// _HASHES", _TURNED),
]

_HELD, _FILED = "tests/jobs/test_contained.py", "tests/candidates/test_contained.py"

CONTAINMENT = [
    Defect("pairs/sets_kernels.py", "count / total >= threshold", "count / total > threshold", _HELD),
    Defect("pairs/sets.py", "sets.sizes[lefts] >= sets.sizes[rights]", "sets.sizes[lefts] < sets.sizes[rights]", _HELD),
    Defect("pairs/sets.py", "back[order] = shared", "back[:] = shared", _HELD),
    Defect(
        "candidates/contained_kernels.py",
        "missing = met - least_overlap(threshold, size)",
        "missing = met - least_overlap(threshold, size) - 1",
        _FILED,
    ),
    Defect("candidates/contained_kernels.py", "while chance > loss:", "while chance > 2 * loss + 0.02:", _FILED),
    Defect(
        "candidates/contained_kernels.py",
        "owner_sizes[owner] == size and other >= number",
        "owner_sizes[owner] == size and other > number",
        _FILED,
    ),
    Defect("candidates/contained_kernels.py", "if stamps[owner] == stamp:", "if stamps[owner] > stamp:", _FILED),
    Defect("candidates/prefix_kernels.py", "token = x ^ salt\n", "token = x\n", _FILED),
    Defect(
        "engines/local/steps/candidates_contained.py",
        "first, n_waiting = last, 0",
        "n_waiting = 0",
        f"{_HELD}::test_keys_that_do_not_fit_in_memory_are_looked_up_part_by_part",
    ),
    Defect("engines/local/steps/cluster.py", "np.lexsort((rank, -sizes", "np.lexsort((rank, sizes", _HELD),
    Defect(
        "engines/local/steps/cluster.py",
        'or (options.measure == "containment" and one_sided)',
        "",
        _HELD,
    ),
    Defect("engines/local/joins/contained.py", "self.sizes[:] = sizes", "pass", _HELD),
    Defect("engines/local/joins/contained.py", "        self._leave_short()\n", "", _HELD),
    Defect("schema.py", "return left if one_sided else", "return", _HELD),
    Defect("pairs/audit/inverted_kernels.py", "min(size, theirs) if", "max(size, theirs) if", _HELD),
    Defect("results/recut_limits.py", 'changes["threshold"] = limit', "pass", _HELD),
]

_GROUPED, _SAME = "tests/candidates/test_anchors.py", "tests/jobs/test_passages_sources.py"
_WORDS, _SHARED = "tests/pairs/test_passages.py", "tests/jobs/test_passages.py"

PASSAGES = [
    Defect(
        "sketches/winnowing_kernels.py",
        "        if grams[i] <= grams[place]:",
        "        if grams[i] < grams[place]:",
        "tests/sketches/test_winnowing.py",
    ),
    Defect("sketches/winnowing_kernels.py", "if n < w:", "if n <= w:", "tests/sketches/test_winnowing.py"),
    Defect(
        "sketches/winnowing_kernels.py",
        "first[j], last[j] + least)",
        "first[j], last[j] + least - 1)",
        f"tests/sketches/test_winnowing.py {_WORDS}",
    ),
    Defect(
        "sketches/winnowing_kernels.py",
        "end = starts[i] + last[i] + least",
        "end = starts[i] + last[i] + least - 1",
        "tests/sketches/test_winnowing.py",
    ),
    Defect("sketches/winnowing.py", "k = least // 2 + 1", "k = (least + 1) // 2", "tests/sketches/test_winnowing.py"),
    Defect("candidates/anchors_kernels.py", "crowded = distinct > crowd", "crowded = distinct >= crowd", _GROUPED),
    Defect("candidates/anchors_kernels.py", "last - first > most_places", "last - first >= most_places", _GROUPED),
    Defect("candidates/anchors_kernels.py", "state[0], state[1] = g, i", "state[0], state[1] = g, i + 1", _GROUPED),
    Defect(
        "candidates/anchors_kernels.py",
        "distance[i] == distance[j] <= reach:",
        "distance[i] == distance[j]:",
        f"{_GROUPED} {_WORDS}",
    ),
    Defect("candidates/anchors_kernels.py", "own |= documents[i] < border", "own |= documents[i] <= border", _GROUPED),
    Defect("candidates/anchors_kernels.py", "twice[word] |= one", "twice[word] = one", _GROUPED),
    Defect(
        "candidates/crowds.py",
        "(self.n_documents > rules.crowd)",
        "(self.n_documents >= rules.crowd)",
        "tests/candidates/test_crowds.py",
    ),
    Defect(
        "candidates/crowds.py",
        "(n_places > rules.most_places)",
        "(n_places >= rules.most_places)",
        f"tests/candidates/test_crowds.py {_WORDS}",
    ),
    Defect(
        "candidates/crowds.py",
        "begin, min(groups, begin + step), self",
        "begin, min(groups, begin + step) - 1, self",
        f"tests/candidates/test_crowds.py {_WORDS}",
    ),
    Defect(
        "candidates/crowds_kernels.py",
        "(document >= border) == (side == 1)",
        "(document > border) == (side == 1)",
        _WORDS,
    ),
    Defect("candidates/crowds_kernels.py", "place >= tied_place + least", "place > tied_place + least", _WORDS),
    Defect(
        "candidates/crowds_kernels.py",
        "fewest = min(fewest, n_documents[h])",
        "fewest = max(fewest, n_documents[h])",
        f"{_SHARED} -k textbook",
    ),
    Defect(
        "candidates/crowds_kernels.py",
        "last[5] = min(last[5], rows[i, 5])",
        "last[5] = max(last[5], rows[i, 5])",
        f"{_SHARED} -k textbook",
    ),
    Defect("candidates/crowds_kernels.py", " and not crowded[group_of[x - 1]]", "", _WORDS),
    Defect(
        "candidates/crowds_kernels.py",
        "U(rows[i, 2]) <= U(last[2]) + U(last[4])",
        "U(rows[i, 2]) < U(last[2]) + U(last[4])",
        _WORDS,
    ),
    Defect(
        "pairs/passages_kernels.py",
        "while i + n < n_left and j + n < n_right and",
        "while i + n < n_left and j + n < n_right - 1 and",
        _WORDS,
    ),
    Defect("pairs/passages_kernels.py", "min(n, j - i) if a == b else n", "n", _WORDS),
    Defect("pairs/passages_kernels.py", "if first > last:", "if first >= last:", _WORDS),
    Defect("pairs/passages_kernels.py", "lasts[at] < first:", "lasts[at] <= first:", _WORDS),
    Defect("pairs/passages_kernels.py", "(a, i, i + n - least, keys", "(a, i, i + n - least - 1, keys", _WORDS),
    Defect("pairs/passages_kernels.py", "y + run > n_right:", "y + run >= n_right:", _WORDS),
    Defect("pairs/passages_kernels.py", "if x < run or y <", "if x <= run or y <", _WORDS),
    Defect("pairs/passages_kernels.py", "n_left = j\n", "pass\n", f"{_SHARED} -k joined"),
    Defect(
        "pairs/passages_kernels.py",
        "out[i] = same and runs[at, 2] <= ties[i, 2] and ends",
        "out[i] = same and runs[at, 2] < ties[i, 2] and ends",
        _WORDS,
    ),
    Defect("pairs/passages.py", "<= gap for side", "< gap for side", _WORDS),
    Defect("pairs/passages.py", "max(one[2], other[2]) > min(", "max(one[2], other[2]) >= min(", f"{_WORDS} {_SHARED}"),
    Defect("pairs/passages.py", "if shared >= least:", "if shared > least:", _WORDS),
    Defect("pairs/passages.py", "np.maximum.accumulate(ends[order])", "ends[order]", _WORDS),
    Defect("pairs/coverage_kernels.py", "if ends[at] >= ask_ends[i]", "if ends[at] > ask_ends[i]", _WORDS),
    Defect("pairs/coverage_kernels.py", "max(reach[j], reach[j - 1])", "ends[j]", _WORDS),
    Defect("pairs/coverage_kernels.py", "if total > U(most", "if total >= U(most", _WORDS),
    Defect("pairs/coverage.py", "(rows[:, 1], rows[:, 4], rows[:, 5],", "(rows[:, 1], rows[:, 2], rows[:, 3],", _WORDS),
    Defect(
        "engines/local/passages/search.py",
        "np.uint64(64 - (portions.bit_length() - 1))",
        "np.uint64(64 - portions.bit_length())",
        f"{_SAME} -k bytes",
    ),
    Defect("engines/local/passages/search.py", " + np.uint32(span.first)", "", f"{_SAME} -k bytes"),
    Defect(
        "engines/local/passages/verify.py",
        "np.minimum(ties[same, 4], ties[same, 3] - ties[same, 2])",
        "ties[same, 4]",
        f"{_SHARED} -k textbook",
    ),
    Defect("engines/local/passages/verify.py", " | (portion_of == right)", "", f"{_SAME} -k bytes"),
    Defect(
        "engines/local/passages/verify.py",
        "while at < len(hits) and (hits",
        "while False and (hits",
        f"{_SHARED} {_SAME}",
    ),
    Defect("engines/local/passages/read.py", "known.added(anchors.hashes)", "known.repeated(anchors.hashes)", _SHARED),
    Defect(
        "engines/local/passages/write.py",
        "passages.documents[start : start + len(rows)]",
        "passages.documents[: len(rows)]",
        f"{_SAME} -k bytes",
    ),
    Defect("engines/local/passages/write.py", "one.windows + least - 1", "one.windows + least", _SHARED),
    Defect(
        "engines/local/passages/places.py",
        "starts[order] = ",
        "starts[:] = ",
        _SHARED,
    ),
    Defect(
        "engines/local/passages/words.py",
        'side="left" if is_end else "right"',
        'side="right"',
        f"{_SAME} -k places",
    ),
]

_CUT, _TRIMMED = "tests/clusters/test_cuts.py", "tests/jobs/test_trim.py"

TRIM = [
    Defect("clusters/cuts_kernels.py", "+ least - 1", "+ least", _CUT),
    Defect("clusters/cuts_kernels.py", "begin = max(start, end)", "begin = start", _CUT),
    Defect("clusters/cuts_kernels.py", "+ (begin - start)", "", _CUT),
    Defect("clusters/cuts.py", "copies[:, 3], copies[:, 1]))]", "copies[:, 1]))]", _CUT),
    Defect("clusters/cuts.py", "cut = number >= copies", "cut = number > copies", _CUT),
    Defect("clusters/cuts.py", "rank[documents], hashes))", "documents, hashes))", _CUT),
    Defect("candidates/crowds_kernels.py", "places[i] - kept[j] < U(least)", "places[i] - kept[j] <= U(least)", _CUT),
    Defect("candidates/crowds_kernels.py", "if n_kept < copies:", "if n_kept <= copies - 2:", _CUT),
    Defect(
        "engines/local/passages/words.py",
        "base + int(runs.rows[index]) + 1",
        "base + 1",
        f"{_TRIMMED} tests/jobs/test_trim_outputs.py",
    ),
    Defect(
        "engines/local/passages/words.py",
        "(part << 40) + block.first_row",
        "block.first_row",
        f"{_TRIMMED} tests/jobs/test_trim_outputs.py",
    ),
    Defect(
        "engines/local/passages/words.py",
        "options, (part << 40) + block.first_row)",
        "options, part << 40)",
        f"{_TRIMMED} tests/jobs/test_trim_outputs.py",
    ),
    Defect("engines/local/passages/words.py", "splitmix64(key) + numbers)", "splitmix64(key))", _TRIMMED),
    Defect(
        "engines/local/passages/words.py",
        'np.searchsorted(mark_ends, starts, side="right")',
        "np.searchsorted(mark_ends, starts)",
        _TRIMMED,
    ),
    Defect(
        "engines/local/passages/trim.py",
        "one.hashes ^ salts[one.rows]",
        "one.hashes",
        "tests/jobs/test_trim_units.py",
    ),
    Defect("engines/local/passages/trim.py", " + np.uint32(span.first)", "", f"{_SAME} -k bytes"),
    Defect(
        "engines/local/passages/write_trimmed.py",
        "before == int(self._words[at, 0])",
        "before == int(self._words[at, 0]) + 1",
        _TRIMMED,
    ),
    Defect("engines/local/passages/write_trimmed.py", "rest < max(1, leave)", "rest <= max(1, leave)", _TRIMMED),
    Defect(
        "engines/local/passages/write_trimmed.py",
        "slice(start, start + batch_sizes.TABLE_ROWS)",
        "slice(start, start + batch_sizes.TABLE_ROWS - 1)",
        f"{_SAME} -k bytes",
    ),
    Defect(
        "engines/local/passages/write_trimmed.py",
        "few[start : start + batch_sizes.TABLE_ROWS]",
        "few[start : start + batch_sizes.TABLE_ROWS - 1]",
        f"{_TRIMMED} {_SAME}",
    ),
    Defect(
        "engines/local/passages/write_trimmed.py",
        "np.add.at(cut_words, cuts[:, 0], length.astype(np.int64))",
        "cut_words[cuts[:, 0]] += length",
        _TRIMMED,
    ),
    Defect(
        "engines/local/passages/write_trimmed.py",
        'max(at, text.rfind("\\n", at, start) + 1)',
        'max(at, text.rfind("\\n", at, start))',
        "tests/jobs/test_trim_units.py",
    ),
    Defect(
        "engines/local/passages/write_trimmed.py",
        "pieces[first : last + 1]",
        "pieces",
        f"{_TRIMMED} tests/jobs/test_trim_outputs.py",
    ),
]

_STORED = "tests/index/kinds/test_samples.py -k "
_CONTAINED = "tests/index/kinds/test_containment.py -k "

SAMPLES = [
    Defect("index/kinds/kernels.py", "np.int32(fmix64(x + WEYL)", "np.int32(fmix64(x)", f"{_STORED}golden"),
    Defect(
        "index/kinds/kernels.py", "while place > 0 and smallest", "while place > 1 and smallest", f"{_STORED}definition"
    ),
    Defect("index/kinds/samples.py", "LEAST = 16", "LEAST = 15", f"{_STORED}definition"),
    Defect(
        "index/kinds/sample_queries.py", "(hits.low >= self.needed)", "(hits.low > self.needed)", f"{_CONTAINED}sizes"
    ),
    Defect(
        "index/kinds/sample_queries.py",
        "hits >= held_hits(distinct",
        "hits > held_hits(distinct",
        f"{_CONTAINED}sizes",
    ),
    Defect(
        "index/kinds/sample_queries.py",
        "hits[row] >= self._thinned_hits",
        "hits[row] > 2 * self._thinned_hits",
        f"{_CONTAINED}sizes",
    ),
    Defect("index/kinds/sample_queries.py", "np.bincount(places[is_low]", "np.bincount(places", f"{_CONTAINED}sizes"),
    Defect(
        "index/kinds/sample_queries.py",
        "** _LEAST > 1.0 - recall:",
        "** _LEAST > 1.0:",
        f"{_CONTAINED}lower and sqlite",
    ),
    Defect("index/kinds/sample_queries.py", "if needed < 1:", "if needed < 0:", f"{_CONTAINED}chosen and sqlite"),
    Defect(
        "index/kinds/sample_queries.py",
        "parts = [Hits.total(parts)]",
        "parts = [Hits.total(parts[1:])]",
        f"{_CONTAINED}portions and sqlite",
    ),
    Defect(
        "index/kinds/sample_queries.py",
        'posting_portions(self.keys, "samples")',
        'posting_portions(self.keys, "bands")',
        f"{_CONTAINED}chosen and sqlite",
    ),
    Defect("index/kinds/containment.py", " & (numbers != (without or 0))", "", f"{_CONTAINED}order and sqlite"),
    Defect(
        "index/kinds/containment.py",
        "np.maximum(smaller, 1) >= least",
        "np.maximum(smaller, 1) > least",
        f"{_CONTAINED}exactly and sqlite",
    ),
    Defect(
        "index/kinds/containment.py",
        "scanned[first : first + many]",
        "scanned[first : first + many - 1]",
        f"{_CONTAINED}portions and sqlite",
    ),
    Defect(
        "index/kinds/containment.py",
        "numbers[first : min(first + many, high)]",
        "numbers[first : first + many]",
        f"{_CONTAINED}portions and sqlite",
    ),
    Defect("index/kinds/containment.py", "    yield second\n", "", f"{_CONTAINED}portions and sqlite"),
    Defect(
        "index/kinds/containment.py",
        "by=np.maximum(found.scores[1], found.scores[2])",
        "by=found.scores[1]",
        f"{_CONTAINED}order and sqlite",
    ),
    Defect(
        "index/kinds/containment.py",
        "np.rint(answers.scores[1] * ours)",
        "np.rint(answers.scores[2] * ours)",
        f"{_CONTAINED}(chosen or recall) and sqlite",
    ),
    Defect("index/kinds/kernels.py", "if value >= 0:", "if value > 0:", f"{_CONTAINED}counted"),
    Defect(
        "index/kinds/kernels.py",
        "while table[place] >= 0 and values",
        "while table[place] > 0 and values",
        f"{_CONTAINED}counted",
    ),
    Defect(
        "plan/samples.py",
        "common -= (common - 1) / sizes >= containment",
        "common -= 0",
        "tests/plan/test_samples.py",
    ),
    Defect(
        "plan/samples.py",
        "common += common / sizes < containment",
        "common += 0",
        "tests/plan/test_samples.py",
    ),
    Defect("plan/samples.py", "draws + counts + 1.0)", "draws + counts + 2.0)", "tests/plan/test_samples.py"),
    Defect("plan/samples.py", "- math.log(rate - 1)", "- math.log(rate)", "tests/plan/test_samples.py"),
    Defect("plan/samples.py", "_log(sizes - common - count)", "_log(sizes - count)", "tests/plan/test_samples.py"),
    Defect("plan/samples.py", "_SIGMAS = 12", "_SIGMAS = 1", "tests/plan/test_samples.py"),
]

_ASKED = "tests/index/kinds/test_passage_queries.py -k "

INDEX_PASSAGES = [
    Defect(
        "index/kinds/anchors.py",
        "hashes ^ splitmix64(np.array([settings.seed], np.uint64))",
        "hashes",
        f"{_ASKED}golden",
    ),
    Defect(
        "index/kinds/anchors.py",
        "minlength=len(texts))",
        "minlength=1)",
        f"{_ASKED}most and sqlite",
    ),
    Defect("index/kinds/anchors.py", "lowercase=options.lowercase, ", "", f"{_ASKED}options and sqlite"),
    Defect("index/kinds/anchors.py", "nfc=options.nfc, ", "", f"{_ASKED}options and sqlite"),
    Defect("index/kinds/anchors.py", ", split=options.split", "", f"{_ASKED}options and sqlite"),
    Defect("index/kinds/passage_queries.py", " + (without is not None)", "", f"{_ASKED}itself and sqlite"),
    Defect(
        "index/kinds/passage_queries.py",
        "counts > self.limits.crowd",
        "counts >= self.limits.crowd",
        f"{_ASKED}itself and sqlite",
    ),
    Defect(
        "index/kinds/passage_queries.py",
        "numbers[starts[crowded]]",
        "numbers[starts[crowded] + 1]",
        f"{_ASKED}crowded and sqlite",
    ),
    Defect(
        "index/kinds/passage_queries.py",
        "stay = numbers != (without or 0)",
        "stay = numbers > 0",
        f"{_ASKED}crowd and sqlite",
    ),
    Defect(
        "index/kinds/passage_queries.py", "rows[:, 1] += np.uint32(len(ids))", "pass", f"{_ASKED}portions and sqlite"
    ),
    Defect(
        "index/kinds/passage_queries.py",
        'astype(np.int64) - self._sizes.least, "right")',
        "astype(np.int64) - self._sizes.least)",
        f"{_ASKED}crowded and sqlite",
    ),
    Defect(
        "index/kinds/passage_queries.py",
        "np.searchsorted(windows.last, rows[:, 2])",
        "np.searchsorted(places, rows[:, 2])",
        f"{_ASKED}crowded and sqlite",
    ),
    Defect(
        "index/kinds/passage_queries.py",
        "rare[last] == rare[first]",
        "rare[last] <= rare[first] + 1",
        f"{_ASKED}most and sqlite",
    ),
    Defect("index/kinds/passage_queries.py", "rows[:, 1], -total))", "rows[:, 1], total))", f"{_ASKED}most and sqlite"),
    Defect(
        "index/kinds/passage_queries.py",
        "query + places[0], places[first]",
        "query + places[1], places[first]",
        f"{_ASKED}many and sqlite",
    ),
    Defect(
        "index/sqlite/tables.py",
        "AND b.document <= coalesce(",
        "AND b.document < coalesce(",
        f"{_ASKED}crowded and sqlite",
    ),
    Defect(
        "index/sqlite/tables.py",
        "ORDER BY c.document LIMIT",
        "ORDER BY c.document DESC LIMIT",
        f"{_ASKED}crowded and sqlite",
    ),
    Defect(
        "index/sqlite/backend.py",
        "apsw.carray(keys), most - 1)",
        "apsw.carray(keys), most - 2)",
        f"{_ASKED}itself and sqlite",
    ),
    Defect(
        "index/postgres/tables.py",
        "ORDER BY document LIMIT %s) AS b",
        "ORDER BY document DESC LIMIT %s) AS b",
        f"{_ASKED}crowded and postgres",
    ),
    Defect(
        "index/postgres/tables.py",
        "FROM {} WHERE key = w.key ORDER",
        "FROM bands WHERE key = w.key ORDER",
        f"{_ASKED}crowded and postgres",
    ),
    Defect(
        "index/postgres/backend.py",
        "WHERE b.key = w.key AND b.document = w.document",
        "WHERE b.key = w.key",
        f"{_ASKED}life and postgres",
    ),
    Defect("index/write.py", "if not self.kind.content_tables:", "if self.kind.settings:", f"{_ASKED}life and sqlite"),
    Defect(
        "index/kinds/text_entries.py",
        '        keys["anchors"] = _anchor_keys_of(contents, settings)',
        "        pass",
        f"{_ASKED}life and sqlite",
    ),
    Defect(
        "index/kinds/text_entries.py",
        "table: some.take(rows) for table",
        "table: some for table",
        f"{_ASKED}life and sqlite",
    ),
    Defect("index/reader.py", "pa.large_string())), number)", "pa.large_string())))", f"{_ASKED}itself and sqlite"),
    Defect(
        "index/reader.py",
        "queries.lengths, searcher.limits.least, passages",
        "queries.lengths, 1, passages",
        f"{_ASKED}counted and sqlite",
    ),
    Defect("index/reader.py", "query, limits, without=number)", "query, limits)", f"{_CONTAINED}order and sqlite"),
    Defect(
        "index/reader.py",
        "if self._kind_cache is None or self._kind_cache[0] is not self.settings:",
        "if self._kind_cache is None:",
        "tests/index/kinds/test_measured_life.py -k sqlite",
    ),
]

_BOTH = "tests/engines/contract/test_contract.py"

SPARK = [
    Defect("engines/spark/steps/read.py", 'select("digest", "text").distinct()', 'select("digest").distinct()', _BOTH),
    Defect("engines/spark/steps/candidates.py", 'where("sharing > 1")', 'where("sharing > 2")', _BOTH),
    Defect("engines/spark/steps/cluster.py", '~F.max("as_worse")', 'F.max("as_worse")', _BOTH),
    Defect("engines/spark/steps/rank.py", "F.bitwise_not(whole) if descending", "whole if descending", _BOTH),
    Defect("engines/spark/steps/tables.py", 'swapped = F.col("left_id") >', 'swapped = F.col("left_id") <', _BOTH),
    Defect("engines/spark/steps/audit.py", '(~F.max("known"))', 'F.max("known")', _BOTH),
    Defect("engines/spark/tasks/audit.py", 'rows.filter(pc.not_equal(own, near["digest"]))', "rows", _BOTH),
    Defect("engines/spark/tasks/families.py", "right[np.lexsort((right, of_left))]", "right", _BOTH),
    Defect("engines/spark/tasks/rows.py", "starts[1:] |= numbers[1:] != numbers[:-1]", "pass", _BOTH),
    Defect("engines/spark/tasks/cluster.py", "axis=0)[::-1]", "axis=0)", _BOTH),
    Defect("engines/spark/write.py", "if len(rows) != 1:", "if len(rows) > 1:", "tests/engines/spark/test_runs.py"),
    Defect(
        "engines/spark/worker.py",
        "if package.__version__ != version:",
        "if not package.__version__:",
        "tests/engines/spark/test_runs.py tests/engines/spark/test_cluster.py tests/engines/spark/test_refused.py",
    ),
    Defect(
        "engines/spark/store.py",
        "if self.wrote and self.path is not None:",
        "if False:",
        "tests/engines/spark/test_stopped.py tests/engines/spark/test_runs.py",
    ),
    Defect(
        "engines/spark/session.py",
        "session.conf.set(name, old)",
        "pass",
        "tests/engines/spark/test_runs.py",
    ),
]

_GUARD = "tests/web/test_security.py"
_SERVED = "tests/index/test_served.py"

SERVICE = [
    Defect("web/tokens.py", "return need != WRITE or self.right == WRITE", "return True", _GUARD),
    Defect("web/tokens.py", "if hmac.compare_digest(digest, row[:2][column]):", "if True:", _GUARD),
    Defect("web/origins.py", "if not self._is_known(host, str(server[0])):", "if False:", _GUARD),
    Defect("web/origins.py", 'if by_cookie and not same and site != b"same-origin":', "if False:", _GUARD),
    Defect("web/origins.py", "if origin is not None and not same:", "if False:", _GUARD),
    Defect("web/security.py", "if need != OPEN and token is None:", "if False:", _GUARD),
    Defect("web/security.py", 'lstrip("/\\\\")', 'lstrip("")', _GUARD),
    Defect("web/limits.py", "if self._size > self.most:", "if False:", _GUARD),
    Defect("web/limits.py", "if self._by_token[token] >= self.limits.each:", "if False:", _GUARD),
    Defect("web/log.py", 'repr(scope["path"]) if self.texts', 'repr(scope["path"]) if True', _GUARD),
    Defect("web/api/app.py", 'return READ if method == "POST" and asks else WRITE', "return READ", _GUARD),
    Defect("web/pages.py", "autoescape=True", "autoescape=False", "tests/web/api/test_try_page.py"),
    Defect(
        "web/api/queries.py", "and one.limits == first.limits", "",
        "tests/web/api/test_queries.py",
    ),
    Defect(
        "web/api/adding.py", "if self._before._failed:", "if False:", "tests/web/api/test_documents.py",
    ),
    Defect("index/served.py", "if change.series is not None and change.series.failed:", "if False:", _SERVED),
    Defect("index/served.py", 'if value["digest"] != change.digest:', "if False:", _SERVED),
    Defect("index/served.py", 'answer["version"] = before', "pass", _SERVED),
    Defect("index/postgres/tables.py", "CAST(settings.value AS bigint) + 1", "CAST(settings.value AS bigint)", _SERVED),
    Defect(
        "client.py", '"application/x-ndjson", "Idempotency-Key": secrets.token_hex(16)}', '"application/x-ndjson"}',
        "tests/web/test_client.py",
    ),
]

_FORMS = "tests/web/review/test_forms.py"
_CHOICE = "tests/web/review/test_choice.py"

REVIEW = [
    Defect("web/review/app.py", "blind or (choice is not None and choice.sample is not None)", "blind", _FORMS),
    Defect("web/review/app.py", "status=409, question=question)", "question=question)", _FORMS),
    Defect("web/review/choice.py", "pairs &= score >= low", "pairs &= score > low", _CHOICE),
    Defect("web/review/choice.py", "if one > pair and self.items.state[one]", "if self.items.state[one]", _CHOICE),
    Defect("web/review/choice.py", "((after, len(chosen)), (0, after))", "((after, len(chosen)),)", _CHOICE),
    Defect("web/review/shown.py", "if (order[1:] < order[:-1]).any():", "if False:", _CHOICE),
    Defect("web/review/ledger.py", "found.setdefault(one.digest, one)", "found[one.digest] = one", _FORMS),
    Defect("web/review/forms.py", 'and not path.startswith("//")', "", "tests/web/review/test_attacks.py"),
    Defect("web/review/texts.py", "+ np.cumsum(sizes) - sizes", "", "tests/web/review/test_texts.py"),
]

_STORE = "tests/verdicts/test_store.py"
_STEPS = f"{_STORE} tests/verdicts/test_store_steps.py"
_OBEYED, _EXCHANGE = "tests/jobs/test_verdicts.py", "tests/verdicts/test_exchange.py"
_PRECISION = "tests/verdicts/test_precision.py"

VERDICTS = [
    Defect("verdicts/events.py", "self.of, self.basis, self.data)", "self.of, self.basis)", _STORE),
    Defect("verdicts/present.py", "if event.step in self.undone:", "if event.mark in self.undone:", _STEPS),
    Defect("verdicts/present.py", "self._redo_of.pop(event.who, None)", "pass", _STORE),
    Defect("verdicts/present.py", "elif event.kind == NOTE:", "elif event.kind == UNDO:", _STEPS),
    Defect("verdicts/present.py", "self.counts[before.verdict] -= 1", "pass", _STEPS),
    Defect("verdicts/store.py", "self._present.changed.get(subject, 0) <= seen", "state is None", _STORE),
    Defect("verdicts/store.py", "if number <= since:", "if number < since:", _STORE),
    Defect("verdicts/database.py", 'self._db.execute("BEGIN IMMEDIATE")', 'self._db.execute("BEGIN")', _STORE),
    Defect("verdicts/conflicts.py", "if one[0] in seen or one[1] in seen]", "if one[0] in seen]", _STEPS),
    Defect("verdicts/conflicts.py", "neighbours.add if verdict == kind", "neighbours.add if verdict", _STEPS),
    Defect("verdicts/exchange.py", "csv.QUOTE_ALL", "csv.QUOTE_MINIMAL", _EXCHANGE),
    Defect("verdicts/exchange.py", "key=lambda one: one.order)", "key=lambda one: one.number)", _EXCHANGE),
    Defect("verdicts/sample.py", "fresh[1:] &=", "fresh[1:] |=", _PRECISION),
    Defect("verdicts/sample.py", "chosen = np.sort(", "chosen = (", _PRECISION),
    Defect(
        "verdicts/sample.py",
        "chosen.strata[h].population / chosen.strata[h].drawn",
        "chosen.strata[h].drawn",
        _PRECISION,
    ),
    Defect(
        "verdicts/precision.py", "found[: found.index(None)] if None in found", "found if None in found", _PRECISION
    ),
    Defect("verdicts/precision.py", "strict=True)) + largest**2", "strict=True)) + largest**2 / 4", _PRECISION),
    Defect("verdicts/precision.py", "strict=True)) + largest\n", "strict=True))\n", _PRECISION),
    Defect("verdicts/precision.py", "right + one.unsure", "right", _PRECISION),
    Defect("verdicts/judged.py", "if one.basis == basis]", "if one.basis]", _OBEYED),
    Defect("verdicts/judged.py", "& (pairs[:, 1] >= border)", "", _OBEYED),
    Defect("engines/local/steps/cluster.py", "~is_among(words, parted) & ", "", _OBEYED),
    Defect("engines/local/steps/cluster.py", "chosen &= ~np.isin(rows[:, 0], links.principals)", "pass", _OBEYED),
    Defect("engines/local/steps/cluster.py", "np.lexsort((rank, others))", "np.lexsort((others, rank))", _OBEYED),
    Defect("engines/local/steps/sketch.py", "plain[border:] ^= OTHER_SIDE", "pass", _OBEYED),
    Defect("engines/local/steps/sketch.py", "digests ^ salts[:, None] if len(salts)", "digests if len(salts)", _OBEYED),
    Defect(
        "clusters/group_kernels.py",
        "if forced[i] and leader[head] == head:",
        "if forced[i]:",
        "tests/clusters/test_group.py",
    ),
    Defect(
        "clusters/group_kernels.py",
        "and barred[other] != first:",
        "and other != first:",
        "tests/clusters/test_group.py",
    ),
    Defect("results/judged.py", "self._rows = rows[distinct]", "self._rows = rows", _PRECISION),
]

_PAIRS = "tests/evaluation/test_real_pairs.py"
_PAGE = "tests/report/test_textbook_page.py"
_COLLAPSE = "tests/cli/test_collapse.py"
_HASHES, _LEARNED = "tests/textbook/test_vector_hashes.py", "tests/textbook/test_learned_codes.py"

LEARNING = [
    Defect("evaluation/real_pairs.py", "-similarities, kind", "similarities, kind", _PAIRS),
    Defect("evaluation/real_pairs.py", "len(lefts), _AT_ONCE):", "len(lefts), _AT_ONCE + 1):", _PAIRS),
    Defect("evaluation/real_pairs.py", 'bitorder="little"', 'bitorder="big"', _PAIRS),
    Defect("evaluation/real_pairs.py", "np.lexsort((marks[:, 1], marks[:, 0]))", "np.arange(len(marks))", _PAIRS),
    Defect("evaluation/real_pairs.py", "sketch(shingles, \"kperm\"", "sketch(shingles, \"fss\"", _PAIRS),
    Defect("evaluation/real_pairs.py", "float(sums[one] / counts[one])", "float(one / _BINS)", _PAIRS),
    Defect("report/textbook_page.js", "similarity[pair] >= state", "similarity[pair] > state", _PAGE),
    Defect(
        "report/textbook_page.js",
        "row < (band + 1) * state.rows; row++) if",
        "row < (band + 1) * state.rows - 1; row++) if",
        _PAGE,
    ),
    Defect("report/textbook_page.js", "Math.min(state[other], most)", "state[other]", _PAGE),
    Defect("report/textbook_page.js", "if (Number(text) < 1) return", "return", _PAGE),
    Defect("report/textbook_page.js", "order[slot] = slot;", "order[slot] = 0;", _PAGE),
    Defect("textbook/vector_hashes.py", "+ offset) / width", "- offset) / width", _HASHES),
    Defect("textbook/vector_hashes.py", "key=costs.__getitem__", "key=range(len(costs)).__getitem__", _HASHES),
    Defect("textbook/learned_codes.py", "right.T @ left.T", "left @ right", _LEARNED),
    Defect("jobs/files/collapse.py", "leader, similarity = fold_texts(", "similarity, leader = fold_texts(", _COLLAPSE),
    Defect("jobs/files/collapse.py", "raw.filter(pa.array(readable))", "raw", _COLLAPSE),
    Defect("jobs/files/collapse.py", '.replace("\\n", " ")', "", _COLLAPSE),
    Defect("textbook/traces.py", "if row in column:", "if row in columns[0]:", "tests/textbook/test_traces.py"),
]

_EXAMPLES, _TABLES_SHOWN = "tests/textbook/test_worked_examples.py", "tests/textbook/test_worked_tables.py"

WORKED = [
    Defect("jobs/compare.py", "distance=1.0 - sim", "distance=sim", "tests/shingles/test_worked_examples.py"),
    Defect("shingles/texts.py", "options.spaces else DROP", "options.spaces else SQUEEZE",
           "tests/textbook/test_sets.py -k paper"),
    Defect("evaluation/sweep.py", "documents * (documents - 1) // 2", "documents * (documents - 1)",
           f"{_EXAMPLES} -k million"),
    Defect("plan/ranking.py", 'L={count}", count, k)', 'L={count}", k, count)', f"{_TABLES_SHOWN} -k families"),
    Defect("textbook/banding.py", "similarity**rows_per_band) ** n_bands", "similarity**n_bands) ** rows_per_band",
           f"{_EXAMPLES} -k bands"),
    Defect("textbook/minhash.py", "min(position(item) for", "max(position(item) for", f"{_EXAMPLES} -k sent"),
]  # fmt: skip

_WARC = "tests/documents/pages/test_warc.py"
_EXTRACT = "tests/documents/pages/test_extract.py"
_DEEPEST = "test_the_deepest_page_that_is_read"
_ENDED = "test_a_page_is_tried_again_if_somebody_ended_the_process"
_REPLACED = "test_bytes_that_are_not_what_the_page_declares_are_replaced_and_counted"
_REPEATS = "tests/cli/test_web_pages.py::test_an_address_that_repeats_is_told"
_HOSTS = "tests/pairs/test_hosts.py"

PAGES = [
    Defect("documents/pages/worker.py", "comments=False, ", "", f"{_EXTRACT}::test_comments_are_no_content"),
    Defect("documents/pages/worker.py", '"*>" * DEEPEST', '"*>" * (DEEPEST + 1)', f"{_EXTRACT}::{_DEEPEST}"),
    Defect("documents/pages/worker.py", "_known(charset) or ", "", f"{_EXTRACT}::test_the_protocol_in_this_process"),
    Defect("documents/pages/extract.py", "code not in _ENDED or tried", "code or tried", f"{_EXTRACT}::{_ENDED}"),
    Defect("documents/pages/extract.py", "done.replaced.append(row)", "pass", f"{_EXTRACT}::{_REPLACED}"),
    Defect("documents/pages/warc.py", "self._put(head)", "pass", _WARC),
    Defect("documents/pages/warc.py", "max(_SMALL, _BOMB * len(data)):", "most:", _WARC),
    Defect("documents/pages/warc_records.py", "end + 4])\n", "end + 3])\n", _WARC),
    Defect("documents/pages/warc_records.py", "left -= len(self._buffer)", "left -= 1", _WARC),
    Defect("pairs/hosts.py", "(one != other) & (one >= 0)", "(one >= 0)", _HOSTS),
    Defect("pairs/hosts.py", "right * self._count + left)", "left * self._count + right)", _HOSTS),
    Defect("engines/local/steps/read.py", "column = next(", 'column = "id" or next(', _REPEATS),
]

_SPARSE_JOIN = "tests/candidates/sparse/test_join.py"
_SPARSE_FILES = "tests/documents/sparse/test_npz.py"
_TABLES = "tests/jobs/test_vector_tables.py"

SPARSE = [
    Defect(
        "candidates/sparse/join_kernels.py",
        "if total + value * value >= limit * limit:",
        "if total >= limit * limit:",
        _SPARSE_JOIN,
    ),
    Defect(
        "candidates/sparse/join_kernels.py",
        "sums[row] = after if after != np.float32(0.0) else MET",
        "sums[row] = after",
        _SPARSE_JOIN,
    ),
    Defect("candidates/sparse/join_kernels.py", "if row >= query:", "if row > query:", _SPARSE_JOIN),
    Defect(
        "candidates/sparse/join_kernels.py",
        "np.int64(columns[at]) < firsts[bucket]",
        "np.int64(columns[at]) + 2 < firsts[bucket]",
        _SPARSE_JOIN,
    ),
    Defect("candidates/sparse/join.py", "np.argsort(-firsts, kind", "np.argsort(firsts, kind", _SPARSE_JOIN),
    Defect("candidates/sparse/join.py", "(own, ~own)", "(own, own)", _SPARSE_JOIN),
    Defect("candidates/sparse/nearest_kernels.py", "if unmet > len(best):", "if unmet >= len(best):", _SPARSE_JOIN),
    Defect("candidates/sparse/nearest_kernels.py", "best[0] - slack", "best[0] + slack", _SPARSE_JOIN),
    Defect(
        "pairs/sparse_kernels.py",
        "if score >= threshold:\n            kept",
        "if score > threshold:\n            kept",
        "tests/pairs/test_sparse.py",
    ),
    Defect(
        "documents/items/sparse_vectors.py",
        "(columns[1:] <= columns[:-1])",
        "(columns[1:] < columns[:-1])",
        "tests/jobs/test_sparse.py -k every_form",
    ),
    Defect(
        "documents/items/sparse_vectors.py",
        "kept = values != 0\n    kept[",
        "kept = np.isfinite(values)\n    kept[",
        "tests/jobs/test_sparse.py -k zeros",
    ),
    Defect(
        "documents/sparse/matrices.py", "(columns < 0) | (columns >= shape[1])", "columns >= shape[1]", _SPARSE_FILES
    ),
    Defect("documents/sparse/npz.py", "stream.tell() + size != about.file_size", "size < 0", _SPARSE_FILES),
    Defect(
        "documents/normalize_kernels.py",
        "h = fmix64((h ^ load64(data, at)) * U(0xD6E8FEB86659FD93))",
        "h = (h ^ load64(data, at)) * U(0xD6E8FEB86659FD93)",
        "tests/jobs/test_measured.py -k upper",
    ),
    Defect("plan/vectors.py", "if share >= enough]", "if share >= 0]", _TABLES),
    Defect("plan/vectors.py", '"functions": bits}', '"functions": bits + 1}', _TABLES),
    Defect("plan/vector_theory.py", "1 - far * far / 2", "1 - far * far", "tests/plan/test_vector_theory.py"),
]

_NEAREST = "tests/candidates/nearest/test_sets.py"
_NEAREST_PAIRS = "tests/jobs/test_nearest_sets.py"
_NEAREST_WEIGHTED = f"{_NEAREST_PAIRS}::test_the_nearest_of_weighted_sets"

NEAREST = [
    Defect("candidates/nearest/nearest_kernels.py", "    if score >= bound:", "    if score > bound:", _NEAREST),
    Defect("candidates/nearest/nearest_kernels.py", "size * SLACK)\n", "size * 3)\n", _NEAREST),
    Defect("candidates/nearest/nearest_kernels.py", "            counts[touched[i]] = 0", "            pass", _NEAREST),
    Defect("candidates/nearest/sets.py", "(1 if self.own else 0)", "1", _NEAREST),
    Defect("compiled/heap_kernels.py", "rank > other_rank", "rank < other_rank", _NEAREST),
    Defect("pairs/nearest/weighted_kernels.py", "ROUNDING = 1.0 + 1e-9", "ROUNDING = 1.0 - 1e-2", _NEAREST_WEIGHTED),
    Defect("engines/local/joins/nearest/contents.py", "firsts[owners] <= top", "firsts[owners] < top", _NEAREST_PAIRS),
    Defect(
        "engines/local/joins/nearest/sets.py",
        "^= np.repeat(loaded.groups, sets.sizes)",
        "^= np.uint64(0)",
        f"{_NEAREST_PAIRS}::test_texts_and_records_and_groups_of_them",
    ),
    Defect(
        "options/base.py",
        'object.__setattr__(changed, "_given", self._given | values.keys())',
        "pass",
        f"{_NEAREST_PAIRS}::test_a_threshold_keeps_its_meaning",
    ),
    Defect(
        "index/content_lists.py",
        "if known is not None and known.version == version:",
        "if known is not None:",
        "tests/index/kinds/test_far_queries.py::test_lists_follow_the_changes_of_the_index",
    ),
]

_COLUMNS = "tests/index/kinds/test_columns.py"
_COLUMNS_LIFE = "tests/index/kinds/test_columns_life.py"

COLUMNS = [
    Defect(
        "index/content_lists.py",
        "ranks_of(contents.ids) if settings.ties_by_id",
        "ranks_of(contents.ids) if not settings.ties_by_id",
        f"{_COLUMNS} -k nearest",
    ),
    Defect(
        "index/kinds/text_queries.py",
        "if self.settings.ties_by_id and len(found.numbers)",
        "if not self.settings.ties_by_id",
        f"{_COLUMNS} -k threshold",
    ),
    Defect(
        "index/kinds/columns/weighted_queries.py",
        "return np.ones(len(ours), np.bool_)",
        "return super()._may_reach(ours, theirs, threshold)",
        f"{_COLUMNS} -k threshold",
    ),
    Defect(
        "documents/items/weighted.py",
        "for weight in sorted(weights):",
        "for weight in weights:",
        f"{_COLUMNS} -k threshold",
    ),
    Defect(
        "index/kinds/columns/weighted_sets.py",
        "option=orjson.OPT_SORT_KEYS",
        "option=0",
        f"{_COLUMNS} -k single",
    ),
    Defect(
        "index/kinds/columns/weighted_sets.py",
        "if not ascending.all() or not",
        "if not",
        f"{_COLUMNS_LIFE} -k stored_weights",
    ),
    Defect(
        "index/settings.py",
        "return format == (COLUMNS if _has_columns(options) else",
        "return format >= (FORMAT if _has_columns(options) else",
        f"{_COLUMNS_LIFE} -k versions",
    ),
    Defect(
        "index/kinds/columns/records.py",
        'options.was_given("text") and options.text != columns',
        'options.text not in ("text", columns)',
        f"{_COLUMNS} -k refused",
    ),
]

_SQL = "tests/jobs/sql/test_register.py"
_DATA_SETS = "tests/jobs/test_data_sets.py"
_DATA_CARD = "tests/documents/data_sets/test_card.py"
_SECTION = "tests/report/test_card.py"

SQL_AND_CARDS = [
    Defect("jobs/sql/functions.py", "equal >= self._plan.min_matches +", "equal >= 0 * self._plan.min_matches +", _SQL),
    Defect("jobs/sql/functions.py", "np.ascontiguousarray(keys.T).ravel()", "keys.ravel()", _SQL),
    Defect("jobs/sql/functions.py", "+ 1).tolist(), len(sizes)]", "+ 1).tolist(), len(sizes) - 1]", _SQL),
    Defect("jobs/sql/functions.py", "pc.and_(lefts.is_valid(), rights", "pc.or_(lefts.is_valid(), rights", _SQL),
    Defect("documents/data_sets/part.py", "[first_row : first_row + rows]", "[:rows]", f"{_DATA_SETS} -k disk"),
    Defect("documents/frames.py", "mask[rows], None if columns", "mask[: len(one)], None if columns", _DATA_SETS),
    Defect("documents/frames.py", "not all(is_data_set(one.rows) for one in splits)", "False", _DATA_SETS),
    Defect("documents/data_sets/card.py", "found.setdefault(match, name)", "found[match] = name", _DATA_CARD),
    Defect("documents/data_sets/card.py", 'or ".." in PurePosixPath(path).parts', "", _DATA_CARD),
    Defect("documents/data_sets/card.py", 'part.startswith((".", "__"))', 'part.startswith(".")', _DATA_CARD),
    Defect("documents/sources.py", "(None, None) if self.prefix else (", "(", _DATA_CARD),
    Defect("report/card/markdown.py", "[^\\s`|]|[^\\s`|][^`|]*[^\\s`|]", "[^`]+", _SECTION),
    Defect("report/card/command.py", " and not follows:", ":", _SECTION),
    Defect("report/card/sections.py", "kept, read & ~kept)]", "kept, ~kept)]", f"{_SECTION} -k unreadable"),
]

_LIMITS = "tests/mcp/test_limits.py"
_WITHIN = "tests/mcp/test_within.py"

AGENTS = [
    Defect(
        "mcp/folders.py",
        "return any(real.is_relative_to(root) for root in self.by_name.values())",
        "return True",
        f"{_LIMITS}::test_names_that_are_refused",
    ),
    Defect(
        "mcp/folders.py",
        'elif os.pardir in name.split("/"):',
        "elif not name:",
        f"{_LIMITS}::test_names_that_are_refused",
    ),
    Defect("mcp/answers.py", "if left < 0:", "if left < -9_999:", f"{_LIMITS}::test_answers_are_bounded"),
    Defect(
        "mcp/sources.py",
        "if not folders.contain(real):",
        "if not real:",
        f"{_WITHIN}::test_the_card_of_a_data_set_leads_nowhere_else",
    ),
    Defect(
        "mcp/answers.py",
        "if _size(short) <= self.characters:",
        "if short:",
        f"{_WITHIN}::test_no_answer_is_longer_than_it_may_be",
    ),
    Defect(
        "mcp/result_tools.py",
        "and not os.path.exists(str(place)):",
        "and place:",
        f"{_WITHIN}::test_a_name_that_looks_like_a_pattern_is_a_file_outside",
    ),
    Defect(
        "mcp/folders.py",
        'return self._prefixes.get(prefix, "") + id.removeprefix(prefix)',
        "return id",
        f"{_WITHIN}::test_paths_of_the_machine_are_not_shown",
    ),
    Defect(
        "results/reopen_sources.py",
        "if is_address(one) and one not in self.named), None)",
        "if is_address(one) and one in self.named), None)",
        "tests/documents/test_spooled.py -k is_not_fetched",
    ),
    Defect("mcp/tools.py", "if size > self.options.length:", "if size < 0:", f"{_LIMITS}::test_answers_are_bounded"),
    Defect(
        "mcp/result_tools.py",
        "if one == OUTSIDE:",
        "if one == recorded:",
        f"{_LIMITS}::test_texts_of_sources_elsewhere_are_not_read",
    ),
    Defect(
        "mcp/server.py",
        "if len(line) < self._most or",
        "if len(line) <= self._most or",
        "tests/house/test_public.py::test_examples_run[mcp/server.py]",
    ),
    Defect(
        "index/sqlite/backend.py",
        "still = (self._untouched or not self._is_writable())",
        "still = (not self._is_writable())",
        f"{_LIMITS}::test_nothing_is_written",
    ),
]

_PLATFORMS = "tests/install/test_platforms.py"

INSTALL = [
    Defect(
        "compiled/cache.py",
        "    if name is None:\n        name = llvm",
        "    if True:\n        name = llvm",
        "tests/install/test_container.py::test_without_a_name_each_processor_has_its_own_kernels",
    ),
    Defect(
        "documents/output_names.py",
        'unicodedata.normalize("NFC", part).casefold()',
        "part.casefold()",
        f"{_PLATFORMS}::test_on_macos_names_that_differ_in_case_or_in_the_form_of_accents_are_the_same",
    ),
    Defect(
        "system/disk.py",
        "    os.fsync(handle)",
        "    os.fstat(handle)",
        f"{_PLATFORMS}::test_on_macos_the_cache_of_the_drive_is_flushed",
    ),
    Defect(
        "system/platforms.py",
        '("win32", "cygwin")',
        '("cygwin",)',
        f"{_PLATFORMS}::test_the_command_refuses_windows_in_one_line",
    ),
]

_SITE_PAGES = "tests/website/test_pages.py"

SITE = [
    Defect("website/markdown.py", "if indent in (2, 3) else 0", "if indent == 2 else 0", _SITE_PAGES),
    Defect("website/markdown.py", "within = indent > 1", "within = False", _SITE_PAGES),
    Defect("website/markdown.py", "if not _ELSEWHERE.match(target):", "if True:", _SITE_PAGES),
    Defect("website/stage.py", "anchor not in self._anchors_of(file)", "not self._anchors_of(file)", _SITE_PAGES),
    Defect("website/sources.py", '"`" * (longest + 1)', '"`" * longest', _SITE_PAGES),
    Defect("website/reference.py", "key not in own", "False", "tests/website/test_reference.py"),
    Defect("website/reference.py", " and name not in errors", "", "tests/website/test_reference.py"),
    Defect("website/llms.py", "for path in staged", "for path in (staged / 'api')", "tests/website/test_built.py"),
    Defect("website/build.py", 'project / "site" / _MISSING)', "project / _MISSING)", "tests/website/test_built.py"),
    Defect("website/notebooks.py", "yield f\"```text", "f\"```text", "tests/website/test_notebooks.py"),
]

_WEB = "tests/documents/remote/test_web.py"
_OBJECTS = "tests/documents/remote/test_objects.py"
_UPLOADS = "tests/reliability/test_remote.py"
_CARDS = "tests/documents/data_sets/test_card.py::test_a_card_in_a_bucket_is_read_as_one_in_a_folder"
_COPIES = "tests/documents/remote/test_copies.py"
_OUTPUTS = "tests/jobs/test_remote_outputs.py"
_REQUESTS = "tests/documents/remote/test_requests.py"
_DESCRIBED = "tests/documents/remote/test_described.py"

REMOTE = [
    Defect(
        "documents/remote/copies.py",
        "            if head != self._head:\n",
        "            if not head:\n",
        f"{_WEB}::test_what_was_fetched_is_not_fetched_again",
    ),
    Defect(
        "documents/remote/copies.py",
        " if _checksum(file, start, stop) == crc])",
        "])",
        f"{_WEB}::test_a_damaged_copy_is_fetched_again",
    ),
    Defect(
        "documents/remote/web.py",
        "if _content_range(answer, one.address) != (start, stop, one.size):",
        "if answer.status == 0:",
        f"{_WEB}::test_another_content_between_two_ranges_is_an_error",
    ),
    Defect(
        "documents/remote/web.py",
        "if _version(answer.headers) != one.version:",
        "if not one.version:",
        f"{_WEB}::test_another_content_between_two_ranges_is_an_error",
    ),
    Defect(
        "documents/remote/fetch.py",
        "        if total > free:\n",
        "        if total > 10**9 * free:\n",
        f"{_OBJECTS}::test_a_disk_without_room_is_noticed_before_anything_is_fetched",
    ),
    Defect(
        "documents/parquet/ranges.py",
        'return path == name or path.startswith(f"{name}.")',
        "return bool(path and name)",
        f"{_OBJECTS}::test_only_the_columns_that_are_read_are_fetched",
    ),
    Defect(
        "system/addresses.py",
        'return f"{path}?…" if query else',
        'return f"{path}?{query}" if query else',
        f"{_WEB}::test_no_query_of_a_signed_address_is_shown",
    ),
    Defect(
        "documents/remote/publish.py",
        "        if self.is_ours(target):\n",
        "        if not found:\n",
        f"{_OUTPUTS}::test_the_upload_of_a_file_is_completed",
    ),
    Defect(
        "documents/remote/publish.py",
        "is_result = is_summary(self._small(found.get(_SUMMARY)))",
        "is_result = _SUMMARY in found",
        f"{_OUTPUTS}::test_a_summary_of_others_is_no_result",
    ),
    Defect(
        "documents/remote/publish.py",
        "if stale or not self._is_in_place(files, old, target, rows):",
        "if files:",
        f"{_OUTPUTS}::test_an_upload_that_could_not_delete_its_stage_is_completed",
    ),
    Defect(
        "documents/remote/publish.py",
        "if name not in files and one.address.key in replaced and not name",
        "if name not in files and not name",
        f"{_OUTPUTS}::test_what_came_to_the_target_meanwhile_stays",
    ),
    Defect(
        "engines/local/write/remote.py",
        "        self._check_target(rows is None and draft.is_dir())\n",
        "",
        f"{_OUTPUTS}::test_what_came_to_the_target_meanwhile_stays",
    ),
    Defect(
        "engines/local/write/place.py",
        "ours = is_result(os.fspath(output)) if marker == SUMMARY else",
        "ours =",
        f"{_OUTPUTS}::test_a_summary_of_others_is_no_result",
    ),
    Defect(
        "engines/local/opened.py",
        "            self.upload.refuse_sources([copy.one.address for copy in self.copies])",
        "            self.upload.refuse_sources([])",
        f"{_OUTPUTS}::test_a_source_below_the_output_is_never_replaced",
    ),
    Defect(
        "engines/local/remote.py",
        "keep=self._resumes or (fetched and inside)",
        "keep=fetched and self.fetcher.has_some and inside",
        f"{_OUTPUTS}::test_a_run_that_cannot_begin_leaves_what_an_earlier_one_left",
    ),
    Defect(
        "documents/remote/fetch.py",
        "number=queries.index(address.query) + 1)",
        "number=1)",
        f"{_COPIES}::test_addresses_that_differ_only_in_the_query_are_different_files",
    ),
    Defect(
        "documents/remote/copies.py",
        "if ranges and not self.one.ranges:",
        "if not ranges:",
        f"{_COPIES}::test_a_stream_of_unknown_length_is_the_same_file_to_a_later_run",
    ),
    Defect(
        "documents/remote/buckets.py",
        "if not one.version.startswith(_WEAK):",
        "if one.version:",
        f"{_COPIES}::test_an_object_without_a_strong_etag",
    ),
    Defect(
        "documents/remote/listing.py",
        " if may_be_result(names) else None",
        "",
        f"{_COPIES}::test_only_summaries_of_possible_results_are_fetched",
    ),
    Defect(
        "documents/remote/listing.py",
        "if is_mark or _above(name) & ours.keys():",
        "if _above(name) & ours.keys():",
        f"{_OBJECTS}::test_marks_of_folders_are_no_documents",
    ),
    Defect("documents/remote/listing.py", "and holds_data(inside, pattern)", "", _CARDS),
    Defect("documents/remote/listing.py", "list(self.splits)", "sorted(self.splits)", _CARDS),
    Defect("documents/remote/requests.py", "            self._stopped.set()\n", "", _REQUESTS),
    Defect("documents/remote/requests.py", "if left and self._progress", "if left > 2 and self._progress", _REQUESTS),
    Defect("documents/remote/beginnings.py", "return self.is_text or b", "return self.looked_at > 0 or b", _DESCRIBED),
    Defect("documents/remote/tables.py", "[footer_range(copy)]", "[]", _DESCRIBED),
    Defect("documents/open_parts.py", "part.size if file.copy is None else file.copy.size", "part.size", _DESCRIBED),
    Defect(
        "results/recut.py",
        "            self.recorded.sources.trusted(number)",
        "            str(number)",
        "tests/jobs/test_remote.py::test_a_changed_object_is_refused_before_anything_is_written",
    ),
    Defect(
        "documents/own_files.py",
        '_PASSAGES, "cuts.parquet"}',
        '"cuts.parquet"}',
        "tests/documents/test_finding.py::test_results_of_passages_and_trim_are_no_documents",
    ),
    Defect(
        "index/kinds/text_entries.py",
        "except (SourceError, ValueError) as error:",
        "except ValueError as error:",
        "tests/index/kinds/test_columns_life.py::test_a_stored_set_that_is_no_list",
    ),
    Defect(
        "candidates/sparse/join_kernels.py",
        "            state[2] += 1\n",
        "            state[2] += 2\n",
        "tests/candidates/sparse/test_join.py::test_pairs_that_are_met_and_multiplied_out_are_counted",
    ),
]

DEFECTS: list[Defect] = [
    *(*BATCHES, *RESULTS, *INTERVALS, *PLANS, *KERNELS, *READING, *REPLACING, *WORDS, *INDEX, *CONTAINMENT),
    *(*PASSAGES, *TRIM, *SAMPLES, *INDEX_PASSAGES, *SPARK, *SERVICE, *VERDICTS, *REVIEW, *LEARNING, *WORKED),
    *(*PAGES, *SPARSE, *NEAREST, *PICTURES, *COLUMNS, *SQL_AND_CARDS, *AGENTS, *INSTALL, *SITE, *REMOTE),
]
