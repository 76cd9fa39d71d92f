"""What people decide about pairs and documents: one file, an append-only log, tied to contents.

A verdict is on *contents*, named by their digest as they are compared (column ``digest`` of documents.parquet). So it
survives a new run, shuffled rows, other ids, thresholds and shards. The state that stands follows from the log.

    store = VerdictStore("OUT.verdicts", basis=...)          makes the file, or opens it; any thread, any process
    seen = store.sequence                                    the number of the last event, put into the page
    store.judge("different", a, b, who="Ann", seen=seen)     a, b: Content(digest, id); durable when it returns
    store.name_principal(a, who="Ann")                       the kept one of its cluster
    store.take_out(a, [b, c], who="Ann")                     different from each of them, one step
    store.annotate("a note", a, b, who="Ann")
    store.undo(who="Ann"); store.redo(who="Ann")             the last step of that person
    store.pair(a.digest, b.digest)                           State or None; store.principal(a.digest)
    store.verdicts(subjects); store.states()                 many at once
    store.counts(); store.conflicts()                        by kind; A = B, B = C, A ≠ C, with the chain
    store.changes(seen)                                      what was judged since; store.history(a.digest, b.digest)

`judge(..., seen=n)` raises `VerdictChangedError` if there was another verdict on the pair after event n: nothing is
overwritten silently. A page that has stored a verdict reads `changes(seen)` before it moves its own `seen` on, since
others may have judged in between. `RowVerdicts` is the array of verdicts of a whole table, for filters, counts and the
next undecided pair.

In a result, `StoredResult.digests` are the digests of its documents by number and `StoredResult.basis` is the basis.
`options.place.verdicts_beside(OUT)` is the file beside a result. `export_events` and `import_events` copy the log,
exactly. `draw_sample` (`DedupResult.sample`) draws pairs to label, in the order of `samples_of(store)[-1].pairs`, and
`estimate_precision` says what the labels teach.

`events.py` has the events, `database.py` the file, `present.py` the replay of the log, `store.py` the store,
`conflicts.py` the conflicts, `rows.py` the array for a table, `exchange.py` exports and imports, `sample.py` and
`precision.py` what labels teach, `judged.py` what a run obeys, `basis.py` how contents are compared.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # loaded on first use: a run without verdicts needs no database
    from twinset.verdicts.basis import basis_of as basis_of
    from twinset.verdicts.conflicts import Conflict as Conflict
    from twinset.verdicts.events import Content as Content
    from twinset.verdicts.events import Event as Event
    from twinset.verdicts.events import Subject as Subject
    from twinset.verdicts.events import subject_of as subject_of
    from twinset.verdicts.exchange import export_events as export_events
    from twinset.verdicts.exchange import import_events as import_events
    from twinset.verdicts.precision import estimate_precision as estimate_precision
    from twinset.verdicts.present import State as State
    from twinset.verdicts.rows import RowVerdicts as RowVerdicts
    from twinset.verdicts.sample import Sample as Sample
    from twinset.verdicts.sample import draw_sample as draw_sample
    from twinset.verdicts.sample import limit_of as limit_of
    from twinset.verdicts.sample import samples_of as samples_of
    from twinset.verdicts.store import Draft as Draft
    from twinset.verdicts.store import VerdictStore as VerdictStore

_PLACES = {
    "Conflict": "conflicts",
    "Content": "events",
    "Draft": "store",
    "Event": "events",
    "RowVerdicts": "rows",
    "Sample": "sample",
    "State": "present",
    "Subject": "events",
    "VerdictStore": "store",
    "basis_of": "basis",
    "draw_sample": "sample",
    "estimate_precision": "precision",
    "export_events": "exchange",
    "import_events": "exchange",
    "limit_of": "sample",
    "samples_of": "sample",
    "subject_of": "events",
}

__all__ = [
    "Conflict",
    "Content",
    "Draft",
    "Event",
    "RowVerdicts",
    "Sample",
    "State",
    "Subject",
    "VerdictStore",
    "basis_of",
    "draw_sample",
    "estimate_precision",
    "export_events",
    "import_events",
    "limit_of",
    "samples_of",
    "subject_of",
]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(f"twinset.verdicts.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
