"""Why a document of a result was kept or removed, and what else is in its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines.local.steps.shingle import column_options
from twinset.engines.local.steps.sketch import EMPTY, UNREADABLE
from twinset.errors import SourceError
from twinset.options.items import MEASURED
from twinset.options.results import ExplainOptions
from twinset.pairs.explain.codes_and_vectors import CodeDifference, VectorDifference
from twinset.pairs.explain.shared import Explanation, explain_records, explain_sets, explain_texts, explain_weighted
from twinset.results.stored import StoredResult
from twinset.schema import removed_schema

KEPT, GONE, FLAGGED, BLANK, BROKEN = "kept", "removed", "flagged", "empty", "unreadable"
AGAINST, EARLIER = "against", "earlier"


@dataclass(frozen=True)
class Account:
    """What became of a document of a result, and why.

    Attributes
    ----------
    id
        The document.
    state
        ``kept``, ``removed`` (or ``flagged``, where the run only flagged), ``empty`` (kept, compared with nothing),
        ``unreadable``, ``against`` (of the other source, and always kept), or ``earlier`` (of the index, and always
        kept).
    cluster
        The id of the kept document of its cluster; None where it is in none.
    members
        The removed documents of that cluster, as a table like `DedupResult.removed`.
    other
        The document it is explained with: the kept one, or for a kept document the least similar one of its cluster,
        or the one that was asked for. None where there is none.
    explanation
        The two texts or sets compared; None where there is no other document, or it is of an index that has no text of
        it, or items are no texts and no sets.
    apart
        The two codes or vectors compared; None of other kinds of items, and where they were objects of a program that
        are gone. Of pictures the score in `members` is all there is to tell.
    """

    id: str
    state: str
    cluster: str | None
    members: pa.Table
    other: str | None
    explanation: Explanation | None
    apart: CodeDifference | VectorDifference | None = None

    def to_dict(self, context: int | None = 6) -> dict[str, Any]:
        """The account as plain values, ready for JSON."""
        return {
            "id": self.id,
            "state": self.state,
            "cluster": self.cluster,
            "members": self.members.to_pylist(),
            "other": self.other,
            "explanation": None if self.explanation is None else self.explanation.to_dict(context),
            **({} if self.apart is None else {"apart": self.apart.to_dict()}),
        }

    def __repr__(self) -> str:
        with_whom = f", explained with {self.other!r}" if self.other is not None else ""
        return f"<Account: {self.id!r} is {self.state}{with_whom}>"


def explain(left: str, right: str, **words: Any) -> Explanation:
    """Explain how similar two texts are: what they share, what they do not, and the words that differ.

    Parameters
    ----------
    left, right
        The texts.
    **words
        The options of `twinset explain`, by the same words.

    Returns
    -------
    Explanation
        With `.similarity`, `.left_in_right`, `.right_in_left`, the shingles `.shared`, `.left_only` and `.right_only`
        as texts, and `.hunks(context)`, the word-level difference.

    Examples
    --------
    >>> import twinset
    >>> found = twinset.explain("the red house by the sea", "the blue house by the sea", shingle="word:3")
    >>> found.shared
    ('house by the', 'by the sea')
    >>> [(part.left, part.right) for hunk in found.hunks() for part in hunk.parts if not part.words]
    [('red ', 'blue ')]
    """
    options = ExplainOptions.of(**words)
    for text in (left, right):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise SourceError.half_a_pair("a text to explain", error) from error
    return explain_texts(left, right, options)


def account(recorded: StoredResult, id: str, other: str | None = None) -> Account:
    """Say what became of a document of a result, and compare it with the document that explains it."""
    number = recorded.find(id)
    state, cluster = _state(recorded, number, id)
    members = removed_schema(recorded.options.measure).empty_table()
    if cluster is not None:
        members = recorded.removed.filter(pc.field("because_of") == cluster)
    second: int | None = None
    if other is not None:
        second = recorded.find(other)
    elif state in (GONE, FLAGGED):
        other, second = cluster, int(kept_numbers(recorded, pa.chunked_array([[cluster]], pa.string()))[0])
    elif len(members):
        other = members["id"][_least_similar(members)].as_py()
        second = recorded.find(other)
    told = recorded.options.item_kind not in MEASURED or recorded.options.item_kind == "weighted"
    explanation = _explained(recorded, number, second) if second is not None and told else None
    if explanation and second is not None and second >= len(recorded.ids) and other == cluster:
        was = members.filter(pc.field("id") == id)["similarity"][0].as_py()
        if abs(explanation.similarity - was) > 1e-9:
            where = str(recorded.options.index)
            raise SourceError(f"the document {cluster!r} was changed in the index since that run", where)
    apart = _apart(recorded, number, second) if second is not None else None
    return Account(id, state, cluster, members, other, explanation, apart)


def _apart(recorded: StoredResult, number: int, second: int) -> CodeDifference | VectorDifference | None:
    kind = recorded.options.item_kind
    if kind not in ("codes", "vectors") or not recorded.sources.lasting:  # the score alone tells much of these
        return None
    return apart_of(kind, *recorded.packed([number, second]))


def apart_of(kind: str, left: bytes | None, right: bytes | None) -> CodeDifference | VectorDifference | None:
    """Two codes or vectors compared, given in their packed form; None where one is none, or of another kind."""
    if left is None or right is None or len(left) != len(right):
        return None
    if kind == "codes":
        return CodeDifference(left, right)
    if kind == "vectors":
        return VectorDifference.of(*(np.frombuffer(one, "<f4").astype(np.float64).tolist() for one in (left, right)))
    return None


def _least_similar(members: pa.Table) -> int:
    """The place of the removed document that is least like the kept one."""
    name = members.column_names[2]
    worst = pc.max(members[name]) if name == "distance" else pc.min(members[name])
    return int(pc.index(members[name], worst).as_py())


def _explained(recorded: StoredResult, number: int, second: int) -> Explanation | None:
    """Two documents compared; None where one is of an index that has no text of it."""
    texts = recorded.texts([number, second])
    if any(text is None and place >= len(recorded.ids) for text, place in zip(texts, (number, second), strict=True)):
        return None
    if recorded.options.item_kind in ("items", "groups"):
        ours, theirs = (orjson.loads(text or "[]") for text in texts)
        return explain_sets(ours, theirs, bag=recorded.options.bag)
    if recorded.options.item_kind == "weighted":
        return explain_weighted(*(orjson.loads(text or "{}") for text in texts))
    if recorded.options.item_kind == "records":
        columns = {
            one.name: (column_options(recorded.options, one.shingle), one.weight)
            for one in recorded.options.text_columns
        }
        ours, theirs = (orjson.loads(text or "{}") for text in texts)
        return explain_records(ours, theirs, columns)
    return explain_texts(texts[0] or "", texts[1] or "", recorded.options)


def _state(recorded: StoredResult, number: int, id: str) -> tuple[str, str | None]:
    """What became of a document, and the kept document of its cluster."""
    if number >= len(recorded.ids):
        return EARLIER, id
    status = recorded.documents["status"][number].as_py()
    if number >= recorded.own:
        return AGAINST, id
    if status == UNREADABLE:
        return BROKEN, None
    why = recorded.removed.filter(pc.field("id") == id)
    if len(why):
        return FLAGGED if recorded.options.flag else GONE, why["because_of"][0].as_py()
    if status == EMPTY:
        return BLANK, None
    # With `against`, documents are removed because of the other source only, whose ids may be the same.
    return KEPT, None if recorded.summary["against"] else id


def kept_numbers(recorded: StoredResult, ids: pa.ChunkedArray) -> Any:
    """The numbers of documents because of which others were removed: with `against`, those of the other source.

    Those of an index go on from the last document of the run.
    """
    ids = ids.cast(pa.large_string())
    places = np.asarray(pc.fill_null(pc.index_in(ids, value_set=recorded.earlier_ids), -1)).astype(np.int64)
    of_run = places < 0
    numbers = places + len(recorded.ids)
    first = recorded.own if recorded.summary["against"] else 0
    numbers[of_run] = recorded.numbers_of(ids.filter(pa.array(of_run)), first)
    return numbers
