"""Open the records of an earlier run, whatever its command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from twinset.options.place import result_folder
from twinset.results.stored import StoredResult, read_summary
from twinset.results.stored_pairs import StoredPairsResult


def open_recorded(folder: Any, source: Sequence[object] = ()) -> StoredResult:
    """Open the records of a result of `dedup`, `pairs` or `passages`: its tables, and its documents by number."""
    summary = read_summary(result_folder(folder))
    if "passages" in summary:
        from twinset.results.stored_passages import StoredPassages

        return StoredPassages(folder, source)
    recorded = (StoredResult if "removed" in summary else StoredPairsResult)(folder, source)
    recorded.earlier_texts = read_index_texts
    return recorded


def read_index_texts(recorded: StoredResult, ids: list[str]) -> list[str | None]:
    """Read the texts of documents of the run's index, as they are now."""
    from twinset.index.index import Index  # loads a database: only where needed

    target, folder = str(recorded.options.index), recorded.summary["timings"].get("folder")
    if "://" not in target and folder and os.path.exists(os.path.join(folder, target)):
        target = os.path.join(folder, target)
    with Index.open(target, read_only=True) as index:
        stored_ids = [id for id in ids if id in index] if index.settings.options.store == "text" else []
        texts = dict(zip(stored_ids, index.texts(stored_ids), strict=True)) if stored_ids else {}
    return [texts.get(id) for id in ids]
