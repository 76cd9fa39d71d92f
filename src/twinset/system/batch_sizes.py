"""How much is worked on at a time: sizes of batches, in one place.

No result depends on them; they bound memory and spread work over threads. Every module reads them here when it needs
one (``batch_sizes.TABLE_ROWS``) and none imports a value, so that a test which makes one small makes it small
everywhere.
"""

NAMED = 1000
"""Documents that a summary names one by one; all are counted."""

CANDIDATE_ROWS = 1 << 20
"""Candidates gathered before they are written to a spool."""
COPY_PAIRS = 1 << 20
"""Pairs of identical documents made at a time, or those of one document."""
VERIFIED_PAIRS = 1 << 14
"""Candidates that a thread verifies at a time."""
VERIFIED_SHINGLES = 1 << 21
"""Shingles that a thread holds at a time where texts are in memory."""
COMPARED_SHINGLES = 1 << 18
"""Shingles in one table of `pairs.sets.compared`; larger documents are compared two at a time."""

TABLE_ROWS = 1 << 17
"""Rows of a result table made at a time."""
ROW_GROUP = 1 << 17
"""Rows in a row group of a result table."""
RECUT_PAIRS = 1 << 20
"""Rows of pairs.parquet read at a time when a result is cut at another threshold."""

INDEX_COMMIT = 50_000
"""Documents committed together when a source is added. Band keys fall everywhere in their table: the more of them are
written at a time, the fewer pages are written twice."""
INDEX_COMMIT_BYTES = 2**28
"""Long documents are committed sooner: an interrupt loses what was not committed."""
INDEX_DOCUMENTS = 4096
"""Documents compared with stored ones, written or deleted at a time."""
INDEX_DOCUMENT_BYTES = 2**25
"""Bytes of documents written or deleted at a time."""
INDEX_ROWS = 65536
"""Rows of `bands` fetched from SQLite at a time."""
INDEX_PAGE = 10_000
"""Numbers of documents fetched at a time when ids are listed."""
INDEX_EXPORTED = 2048
"""Documents of an export read at a time."""
INDEX_CHECKED = 2048
"""Documents that `index verify` checks at a time."""
INDEX_QUERIES = 1024
"""Queries of texts looked up together."""
INDEX_MEETINGS = 2**19
"""Rows of `bands` that these queries meet together, unless one query alone meets more."""
INDEX_SKETCH_BYTES = 2**25
"""Bytes of sketches compared together."""
INDEX_SHINGLES = 2**20
"""Shingles of documents verified together."""
INDEX_RUN = 16384
"""Documents in one run, however short they are."""
