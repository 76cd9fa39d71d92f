"""Convert the places of passages from words to code points of the original texts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twinset.documents.parts import Block
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.passages.words import PassageWork, WordSpans, place_spans
from twinset.engines.local.threads import Threads
from twinset.schema import Numbers, Places
from twinset.system.arrays import pair_words


def spans_in_texts(
    corpus: Corpus, options: PassageWork, threads: Threads, documents: Numbers, first: Numbers, last: Numbers
) -> tuple[Places, Places]:
    """Return the code points at which spans of words, `first` to `last` (exclusive) of documents, start and end."""
    order = np.argsort(pair_words(documents, first), kind="stable")
    documents, first, last = documents[order], first[order], last[order]
    wanted = np.zeros(corpus.documents, np.bool_)
    wanted[documents] = True

    def work(span: Span, block: Block) -> tuple[Places, Places]:
        begin, end = np.searchsorted(documents, [span.first, span.first + span.rows])
        rows = documents[begin:end].astype(np.int64) - span.first
        return place_spans(block, options, WordSpans(rows, first[begin:end], last[begin:end]))

    done = [found for _, found in corpus.read(threads, work, wanted=wanted)]
    starts, ends = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    starts[order] = np.concatenate([np.zeros(0, np.int64), *(one for one, _ in done)])
    ends[order] = np.concatenate([np.zeros(0, np.int64), *(one for _, one in done)])
    return starts, ends


def sides_in_texts(
    corpus: Corpus, options: PassageWork, threads: Threads, rows: npt.NDArray[np.uint32]
) -> tuple[Places, Places, Places, Places]:
    """Return the places of both sides of rows: left and right document, words left from and to, words right."""
    count = len(rows)
    both = (np.concatenate([rows[:, left], rows[:, right]]) for left, right in ((0, 1), (2, 4), (3, 5)))
    starts, ends = spans_in_texts(corpus, options, threads, *both)
    return starts[:count], ends[:count], starts[count:], ends[count:]
