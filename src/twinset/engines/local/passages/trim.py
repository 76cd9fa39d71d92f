"""Cut repeated passages out of documents on this machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from twinset.clusters.cuts import Cuts, cut_spans, repeated_units
from twinset.documents.normalize import normalize
from twinset.documents.parts import Block
from twinset.engines.base import Output, TrimRun
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.passages.read import AnchorReader
from twinset.engines.local.passages.run import SearchedJob
from twinset.engines.local.passages.search import anchor_rows
from twinset.engines.local.passages.words import BlockWords
from twinset.engines.local.passages.write_trimmed import write_trimmed
from twinset.engines.local.steps.cluster import ranks
from twinset.options.passages import TrimOptions
from twinset.schema import Hashes, Numbers
from twinset.shingles.runs import text_units
from twinset.sketches.winnowing import Winnow
from twinset.system.arrays import offsets_of, pair_words

_NONE = np.zeros(0, np.uint64)


class UnitReader(AnchorReader):
    """Reads parts into a corpus whose keys are hashes of lines or paragraphs."""

    def _words(self, block: Block, number: int) -> tuple[BlockWords, Hashes, Hashes]:
        options: Any = self.options
        ready = normalize(block.texts, lowercase=options.lowercase, nfc=options.nfc)
        paragraphs, least = options.unit == "paragraph", options.least_words
        found = [text_units(texts, options.lowercase, options.split, paragraphs, least) for texts in ready.texts]
        counts = np.zeros(block.rows, np.int64)
        for one in found:
            counts[one.row_numbers] = one.row_words
        salts = self.salts(block)
        keys = [
            np.stack([one.hashes ^ salts[one.rows], pair_words(one.rows, one.first)], axis=1) for one in found
        ]
        sizes = np.concatenate([np.zeros(0, np.uint32), *(one.sizes for one in found)])
        nbytes = sum(int((texts.ends - texts.starts).sum()) for texts in ready.texts)
        words = BlockWords(
            np.arange(block.rows), offsets_of(counts), _NONE, np.zeros(block.rows, np.uint32), ready.replaced, nbytes
        )
        return words, np.concatenate([np.empty((0, 2), np.uint64), *keys]), sizes


class LocalTrimRun(SearchedJob, TrimRun):
    """A run on this machine that cuts repeated passages."""

    options: TrimOptions

    @property
    def writes_rows(self) -> bool:
        """Whether the rows of the sources are written."""
        return True

    def _check_items(self) -> None:
        for part in self.parts:
            part.check_texts_replaceable(self.options.mark if self.options.unit == "words" else "")

    def _facts(self) -> dict[str, Any]:
        self.sizes = Winnow.of(self.options.least_words)
        if self.options.unit != "words":
            self.reader = UnitReader
        return {"plan": self.sizes.to_dict()}

    def read(self) -> Corpus:
        """Read every document once: its words, and anchors of them, or its lines or paragraphs."""
        with self.timing("read"):
            return self.read_anchors(whole=True, with_lengths=True)

    def cut(self, corpus: Corpus) -> Cuts:
        """Find later copies of passages, in the order of the keep policy."""
        self.progress.stage("searching", None, "anchors")
        rank = ranks(corpus, self.options, corpus.report.own_ids, self.progress)
        copies, everywhere = self.options.copies, self.options.everywhere
        with self.timing("search"):
            if self.options.unit != "words":
                return repeated_units(*_units(corpus), rank, copies, everywhere)
            found = self.search(corpus).copies(self.sizes, rank, copies, everywhere)
            return cut_spans(found.ties, self.sizes.least)

    def write_trimmed(self, corpus: Corpus, cuts: Cuts) -> Output:
        """Write the documents without what was cut, and what was cut and why."""
        return write_trimmed(self, corpus, cuts)


def _units(corpus: Corpus) -> tuple[Hashes, Numbers, Numbers, Numbers]:
    """Return hash, document, first word and number of words of every unit."""
    hashes, documents, first = [_NONE], [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    for span, record in zip(corpus.spans, corpus.keys.chunks(), strict=True):
        rows = anchor_rows(record)
        hashes.append(rows[:, 0])
        documents.append((rows[:, 1] >> np.uint64(32)).astype(np.uint32) + np.uint32(span.first))
        first.append(rows[:, 1].astype(np.uint32))
    sizes = np.concatenate([np.zeros(0, np.uint8), *corpus.sketches.chunks()]).view(np.uint32)
    return np.concatenate(hashes), np.concatenate(documents), np.concatenate(first), sizes
