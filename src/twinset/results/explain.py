"""Explain why a document of a result was kept or removed, and list its cluster."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents.items.sparse_vectors import both_dense
from twinset.engines.local.steps.shingle import column_options
from twinset.engines.local.steps.sketch import EMPTY, UNREADABLE
from twinset.errors import SourceError
from twinset.options.items import MEASURED, VECTORS
from twinset.pairs.explain.codes_and_vectors import CodeDifference, VectorDifference
from twinset.pairs.explain.shared import Explanation, explain_records, explain_sets, explain_texts, explain_weighted
from twinset.results.stored import StoredResult

KEPT, GONE, FLAGGED, BLANK, BROKEN = "kept", "removed", "flagged", "empty", "unreadable"
AGAINST, EARLIER = "against", "earlier"


@dataclass(frozen=True)
class Account:
    """The outcome of a document of a result, and the reason.

    Attributes
    ----------
    id
        The document.
    state
        ``kept``, ``removed`` (or ``flagged``, if the run only flagged), ``empty`` (kept, compared with nothing),
        ``unreadable``, ``against`` (of the other source, always kept), or ``earlier`` (of the index, always kept).
    cluster
        The id of the kept document of its cluster; None without a cluster.
    members
        The removed documents of that cluster, as a table like `DedupResult.removed`.
    other
        The document it is compared with: the requested one, the kept one, or for a kept document the least similar one
        of its cluster. None if there is none.
    explanation
        The two texts or sets compared; None without another document, if an index does not store its text, or for
        other kinds of items.
    apart
        The two codes or vectors compared; None for other kinds of items, and for objects in memory that are gone.
        Pictures have only the score in `members`.
    reason
        Why the document could not be read; None if it could.
    """

    id: str
    state: str
    cluster: str | None
    members: pa.Table
    other: str | None
    explanation: Explanation | None
    apart: CodeDifference | VectorDifference | None = None
    reason: str | None = None

    def to_dict(self, context: int | None = 6) -> dict[str, Any]:
        """Return the account as plain values, ready for JSON."""
        return {
            "id": self.id,
            "state": self.state,
            "cluster": self.cluster,
            "members": self.members.to_pylist(),
            "other": self.other,
            "explanation": None if self.explanation is None else self.explanation.to_dict(context),
            **({} if self.apart is None else {"apart": self.apart.to_dict()}),
            **({} if self.reason is None else {"reason": self.reason}),
        }

    def __repr__(self) -> str:
        with_whom = f", explained with {self.other!r}" if self.other is not None else ""
        return f"<Account: {self.id!r} is {self.state}{with_whom}>"


def account(recorded: StoredResult, id: str, other: str | None = None, *, texts: bool = True) -> Account:
    """Explain the outcome of a document, and compare it with the document that caused it, unless `texts` is False."""
    number = recorded.find(id)
    state, cluster = _state(recorded, number, id)
    members = recorded.schema("removed").empty_table()
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
    has_text = recorded.options.item_kind not in MEASURED or recorded.options.item_kind == "weighted"
    explanation = _explain_pair(recorded, number, second) if second is not None and has_text and texts else None
    if explanation and second is not None and second >= len(recorded.ids) and other == cluster:
        before = members.filter(pc.field("id") == id)["similarity"][0].as_py()
        if abs(explanation.similarity - before) > 1e-9:
            where = str(recorded.options.index)
            raise SourceError(f"the document {cluster!r} was changed in the index since that run", where)
    apart = _compare_items(recorded, number, second) if second is not None and texts else None
    return Account(id, state, cluster, members, other, explanation, apart, _unreadable(recorded, id, state))


def _unreadable(recorded: StoredResult, id: str, state: str) -> str | None:
    """Return the reason why a document could not be read."""
    if state != BROKEN or not recorded.has("unreadable"):
        return None
    reasons = recorded.table("unreadable").filter(pc.field("id") == id)["reason"]
    return str(reasons[0]) if len(reasons) else None


def _compare_items(recorded: StoredResult, number: int, second: int) -> CodeDifference | VectorDifference | None:
    kind = recorded.options.item_kind
    if kind not in ("codes", *VECTORS) or not recorded.sources.lasting:
        return None
    return apart_of(kind, *recorded.packed([number, second]))


def apart_of(kind: str, left: bytes | None, right: bytes | None) -> CodeDifference | VectorDifference | None:
    """Compare two packed codes or vectors; None if one is missing or of another kind."""
    if left is None or right is None:
        return None
    if kind == "sparse":
        return VectorDifference.of(*(one.tolist() for one in both_dense(left, right)))
    if len(left) != len(right):
        return None
    if kind == "codes":
        return CodeDifference(left, right)
    if kind == "vectors":
        return VectorDifference.of(*(np.frombuffer(one, "<f4").astype(np.float64).tolist() for one in (left, right)))
    return None


def _least_similar(members: pa.Table) -> int:
    """Return the row of the removed document that is least similar to the kept one."""
    name = members.column_names[2]
    extreme = pc.max(members[name]) if name == "distance" else pc.min(members[name])
    return int(pc.index(members[name], extreme).as_py())


def _explain_pair(recorded: StoredResult, number: int, second: int) -> Explanation | None:
    """Compare two documents; None if an index does not store the text of one."""
    texts = recorded.texts([number, second])
    if any(text is None and place >= len(recorded.ids) for text, place in zip(texts, (number, second), strict=True)):
        return None
    if recorded.options.item_kind in ("items", "groups"):
        left, right = (orjson.loads(text or "[]") for text in texts)
        return explain_sets(left, right, bag=recorded.options.bag)
    if recorded.options.item_kind == "weighted":
        return explain_weighted(*(orjson.loads(text or "{}") for text in texts))
    if recorded.options.item_kind == "records":
        columns = {
            one.name: (column_options(recorded.options, one.shingle), one.weight)
            for one in recorded.options.text_columns
        }
        left, right = (orjson.loads(text or "{}") for text in texts)
        return explain_records(left, right, columns)
    return explain_texts(texts[0] or "", texts[1] or "", recorded.options)


def _state(recorded: StoredResult, number: int, id: str) -> tuple[str, str | None]:
    """Return the state of a document, and the kept document of its cluster."""
    if number >= len(recorded.ids):
        return EARLIER, id
    status = recorded.documents["status"][number].as_py()
    if number >= recorded.own:
        return AGAINST, id
    if status == UNREADABLE:
        return BROKEN, None
    removal = recorded.removed.filter(pc.field("id") == id)
    if len(removal):
        return FLAGGED if recorded.options.flag else GONE, removal["because_of"][0].as_py()
    if status == EMPTY:
        return BLANK, None
    # With `against`, only documents of the other source, whose ids may be the same, cause removals.
    return KEPT, None if recorded.summary["against"] else id


def kept_numbers(recorded: StoredResult, ids: pa.ChunkedArray) -> Any:
    """Return the numbers of kept documents; with `against`, those of the other source.

    Documents of an index are numbered after the last document of the run.
    """
    ids = ids.cast(pa.large_string())
    positions = np.asarray(pc.fill_null(pc.index_in(ids, value_set=recorded.earlier_ids), -1)).astype(np.int64)
    of_run = positions < 0
    numbers = positions + len(recorded.ids)
    first = recorded.own if recorded.summary["against"] else 0
    numbers[of_run] = recorded.numbers_of(ids.filter(pa.array(of_run)), first)
    return numbers


def largest_clusters(recorded: StoredResult) -> pa.Table:
    """Return the kept document of each cluster, the number of documents removed because of it, and the first of these.

    The largest clusters come first, equal ones in the order of the removed documents.
    """
    removed = recorded.removed
    rows = pa.table({"kept": removed["because_of"], "row": pa.array(np.arange(removed.num_rows))})
    grouped = rows.group_by("kept", use_threads=False).aggregate([("row", "count"), ("row", "min")])
    ordered = grouped.sort_by([("row_count", "descending"), ("row_min", "ascending")])
    firsts = removed.take(ordered["row_min"])
    score = removed.column_names[2]
    return pa.table(
        {"kept": ordered["kept"], "removed": ordered["row_count"], "example": firsts["id"], score: firsts[score]}
    )
