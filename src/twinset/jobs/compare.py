"""Compare two texts exactly, and estimate their similarity from sketches."""

import dataclasses
import errno
import math
import os
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.documents.encodings import decode, is_utf8
from twinset.documents.files import format_of, why_not_text
from twinset.documents.formats.text_files import file_bytes
from twinset.documents.pages.extract import page_texts
from twinset.documents.parts import DocumentFile
from twinset.engines.local.steps.shingle_length import HALF, measure_texts
from twinset.engines.local.steps.sketch import shingle_sets
from twinset.errors import SourceError
from twinset.options import CompareOptions, ReadOptions
from twinset.pairs.edits import MOST_WORK, edit_similarity
from twinset.pairs.explain.shared import spaced
from twinset.pairs.explain.words import Words, normalise
from twinset.pairs.sets import Sets, overlaps
from twinset.plan.shingle_length import TextLength, fewest_shingles, shorter_shingle
from twinset.schema import Shingles
from twinset.sketches.minhash import estimate, sketch, standard_error


@dataclass(frozen=True)
class Comparison:
    """Two texts compared exactly, and the estimate from sketches.

    `cosine` is that of the counts of shingles. `edit_similarity` and `word_edit_similarity` are 1 - d / n, for d edits
    of characters or words and n of them in the longer text; None for texts that are too long. `short_texts`, else None:
    different texts of so few shingles that one changed word leaves less than half; how many of the two `texts` are, and
    what to `try`.
    """

    similarity: float
    distance: float
    left_in_right: float
    right_in_left: float
    estimate: float
    standard_error: float
    cosine: float
    edit_similarity: float | None
    word_edit_similarity: float | None
    shared: int
    left_shingles: int
    right_shingles: int
    shingle: str
    n_hashes: int
    short_texts: dict[str, Any] | None

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        return asdict(self)


def compare(left: str, right: str, **options: Any) -> Comparison:
    """Compare two texts exactly.

    Parameters
    ----------
    left, right
        The texts.
    **options
        The options of `twinset compare`, as keyword arguments.

    Returns
    -------
    Comparison
        Exact Jaccard similarity, containment both ways, the estimate from sketches, cosine of counts, edit similarity
        of characters and of words, and shingle counts.

    Examples
    --------
    >>> import twinset
    >>> twinset.compare("Nadal", "Nadia", shingle="char:2").similarity
    0.3333333333333333
    """
    checked = CompareOptions.of(**options)
    try:
        texts = pa.array([left, right], pa.large_string())
    except UnicodeEncodeError as error:
        raise SourceError.unpaired_surrogate("a text to compare", error) from error
    if checked.html:
        texts = pa.array([_main_text(one.encode(), name, "utf-8") for one, name in ((left, "left"), (right, "right"))])
    left_hashes, right_hashes = shingle_sets(texts, checked, checked.seed)
    hashes = np.concatenate([left_hashes, right_hashes])
    both = Shingles(np.arange(2), np.array([0, len(left_hashes), len(hashes)]), hashes)
    sets = Sets.with_room(np.diff(both.offsets))
    sets.fill(both, np.arange(2), np.arange(2))
    shared = int(overlaps(sets, np.array([0], np.uint32), np.array([1], np.uint32), 0.0)[0])
    sketches = sketch(both, checked.sketch, checked.n_hashes, checked.seed)
    n_left, n_right = sets.sizes.tolist()
    union = n_left + n_right - shared
    similarity = shared / union if union else 0.0
    return Comparison(
        similarity=similarity,
        distance=1.0 - similarity,
        left_in_right=shared / n_left if n_left else 0.0,
        right_in_left=shared / n_right if n_right else 0.0,
        estimate=estimate(sketches[0], sketches[1]),
        standard_error=standard_error(similarity, checked.n_hashes),
        cosine=_cosine(texts, checked),
        **_edits(left, right, checked),
        shared=shared,
        left_shingles=n_left,
        right_shingles=n_right,
        shingle=checked.shingle,
        n_hashes=checked.n_hashes,
        short_texts=_find_short(texts, [len(left_hashes), len(right_hashes)], checked) if similarity < 1 else None,
    )


def _cosine(texts: pa.Array, options: CompareOptions) -> float:
    """Return the cosine of the counts of shingles."""
    repeated = shingle_sets(texts, dataclasses.replace(options, bag=False), options.seed)
    (left, ours), (right, theirs) = (np.unique(hashes, return_counts=True) for hashes in repeated)
    _, at_left, at_right = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    lengths = math.sqrt(int(ours @ ours) * int(theirs @ theirs))
    return int(ours[at_left] @ theirs[at_right]) / lengths if lengths else 0.0


def _edits(left: str, right: str, options: CompareOptions) -> dict[str, float | None]:
    """Return the edit similarities of two texts as they are compared."""
    if len(left) * len(right) > MOST_WORK:
        return {"edit_similarity": None, "word_edit_similarity": None}
    words = [Words(text, options).keys for text in (left, right)]
    characters = [spaced(normalise(text, options), options) for text in (left, right)]
    return {"edit_similarity": edit_similarity(*characters), "word_edit_similarity": edit_similarity(*words)}


def _find_short(texts: Any, counts: list[int], options: CompareOptions) -> dict[str, Any] | None:
    """Return how many of two texts are short for their shingles, and what to try; None if there is nothing to try."""
    short = sum(count < fewest_shingles(options.size, HALF) for count in counts)
    if not short or not all(counts):
        return None
    words, characters = measure_texts(texts, options)
    shorter = TextLength(int(words.min()), int(characters.min()))
    shingle = shorter_shingle(shorter, options.kind, options.size, HALF)
    if shingle is None:
        return None
    return {
        "texts": short,
        "shingle": options.shingle,
        "changed": "word" if options.kind == "word" else "character",
        "similarity": HALF,
        "try": f"--shingle {shingle}",
    }


def _main_text(page: bytes, name: str, charset: str = "") -> str:
    done = page_texts([page], [charset])
    if done.unreadable:
        raise SourceError(done.unreadable[0][1], where=name)
    return str(done.texts[0].as_py())


def text_of_file(path: str, encoding: str = "utf-8", *, html: bool = False) -> str:
    """Read a file as one text, as a run reads the files of a folder.

    Compressed files are unpacked, a byte-order mark is dropped, and undecodable bytes are replaced; files that are not
    texts are refused. With `html` it is a web page, and its text that of the main content.
    """
    try:
        size = os.stat(path).st_size
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SourceError(f"{why}; allowed: the path of a file that can be read", where=path) from error
    kind, codec = format_of(path)
    if reason := why_not_text(path, path, codec, ReadOptions.of(encoding=encoding)):
        table = f"a {kind} table, but only texts can be compared"
        raise SourceError(f"not a text: {table if kind != 'text' and 'table' in reason else reason}", where=path)
    data = file_bytes(DocumentFile(path, path, PurePosixPath(path), 0, codec, size, 0))
    if html:
        known = not is_utf8(encoding)  # otherwise the page says it, or its bytes do
        page = decode(data, encoding)[0].encode() if known else data
        return _main_text(page, path, "utf-8" if known else "")
    return decode(data, encoding)[0]
