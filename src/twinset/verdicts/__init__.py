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

`events.py` has the events, `database.py` the file, `present.py` the replay of the log, `store.py` the store,
`conflicts.py` the conflicts, `rows.py` the array for a table.
"""

from twinset.verdicts.conflicts import Conflict
from twinset.verdicts.events import Content, Event, Subject, subject_of
from twinset.verdicts.present import State
from twinset.verdicts.rows import RowVerdicts
from twinset.verdicts.store import Draft, VerdictStore

__all__ = ["Conflict", "Content", "Draft", "Event", "RowVerdicts", "State", "Subject", "VerdictStore", "subject_of"]
