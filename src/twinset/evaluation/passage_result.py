"""The result of an evaluation of passages: the measures, each case and each detection, and the files written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from twinset.evaluation.passage_measures import DEFINITIONS, AlignedSpans, score_passages
from twinset.evaluation.result import write_summary
from twinset.evaluation.true_pairs import among, unpaired
from twinset.wording import counted, share

WORDS = {
    **DEFINITIONS,
    "cases": "True passages, each counted once.",
    "detected_cases": "Cases that at least one detection overlaps on both sides.",
    "detections": "Passages found in the document pairs that the truth names; all passages found, if the truth is "
    "complete (see --complete).",
    "false_detections": "Detections that overlap no case on both sides.",
    "elsewhere": "Passages found in document pairs that the truth does not name, and the number of these pairs. They "
    "count in no measure, since they may be real.",
}


@dataclass(frozen=True)
class PassageEvaluation:
    """Agreement of the passages of a run with the true ones: the measures, and three Arrow tables.

    Attributes
    ----------
    summary
        Everything but the tables as plain values, as in ``evaluation.json``.
    cases
        The true passages, with the number of `detections` of each and its `recall`.
    detections
        The passages found in the document pairs that the truth names, with the number of `cases` of each and its
        `precision`.
    elsewhere
        The passages found in other document pairs.
    path
        The folder written, or None.
    """

    summary: dict[str, Any]
    cases: pa.Table
    detections: pa.Table
    elsewhere: pa.Table
    path: Path | None = None

    @property
    def precision(self) -> float | None:
        """Mean share of a detection that is in cases; None if nothing was detected."""
        return self._measure("precision")

    @property
    def recall(self) -> float | None:
        """Mean share of a case that was detected; None if there is no case."""
        return self._measure("recall")

    @property
    def granularity(self) -> float | None:
        """Mean number of detections of a detected case; None if there is none."""
        return self._measure("granularity")

    @property
    def plagdet(self) -> float | None:
        """F1 of precision and recall, divided by log2(1 + granularity); None without cases and detections."""
        return self._measure("plagdet")

    def _measure(self, name: str) -> float | None:
        value: float | None = self.summary["measures"][name]
        return value

    def __repr__(self) -> str:
        cases, plagdet = counted(self.summary["measures"]["cases"], "case"), self.plagdet
        return f"<PassageEvaluation: {cases}, {'no passage found' if plagdet is None else f'plagdet {share(plagdet)}'}>"

    def write(self, folder: Path) -> None:
        """Write evaluation.json, definitions.txt, and the measures and tables as CSV files."""
        tables = {
            "measures": pa.Table.from_pylist([self.summary["measures"]], _MEASURES),
            "cases": self.cases,
            "detections": self.detections,
            "elsewhere": self.elsewhere,
        }
        write_summary(self.summary, tables, folder)


_MEASURES = pa.schema(
    [
        *((name, pa.float64()) for name in DEFINITIONS),
        *((name, pa.int64()) for name in ("cases", "detected_cases", "detections", "false_detections")),
    ]
)


def compare_passages(
    cases: AlignedSpans, passages: AlignedSpans, ids: Any, complete: bool, facts: dict[str, Any]
) -> PassageEvaluation:
    """Compare the passages of a run with the cases.

    ids: the id of every document, by number.
    complete: whether passages in document pairs without a case are detections, too.
    facts: what else the summary says.
    """
    named = among(passages.pair, np.unique(cases.pair)) | complete
    detections, others = passages.take(named), passages.take(~named)
    scores = score_passages(cases, detections)
    summary = {
        "measures": scores.to_dict(),
        "elsewhere": {"passages": len(others), "pairs": len(np.unique(others.pair))},
        **facts,
        "definitions": WORDS,
    }
    return PassageEvaluation(
        summary,
        _table(cases, ids, detections=scores.case_detections, recall=scores.case_recall),
        _table(detections, ids, cases=scores.detection_cases, precision=scores.detection_precision),
        _table(others, ids),
    )


def _table(spans: AlignedSpans, ids: Any, **more: Any) -> pa.Table:
    left, right = (ids.take(pa.array(side)) for side in unpaired(spans.pair))
    names = ("left_start", "left_end", "right_start", "right_end")
    offsets = {name: getattr(spans, name) for name in names}
    return pa.table({"left": left, "right": right, **offsets, **more})
