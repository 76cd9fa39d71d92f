"""Batch sizes of all steps.

No result depends on them; they bound memory and divide work among threads. Modules read them when needed
(``batch_sizes.TABLE_ROWS``) and never import a value, so that a test can change one everywhere.
"""

NAMED = 1000
"""Maximum number of documents that a summary names; all are counted."""

CANDIDATE_ROWS = 1 << 20
"""Candidates buffered before they are written to a spool."""
COPY_PAIRS = 1 << 20
"""Pairs of identical documents made at a time, at least those of one document."""
VERIFIED_PAIRS = 1 << 14
"""Candidates that a thread verifies at a time."""
VERIFIED_SHINGLES = 1 << 21
"""Shingles per thread while texts are in memory."""
COMPARED_SHINGLES = 1 << 18
"""Shingles in one table of `pairs.sets.compared`; larger documents are compared two at a time."""

BOUND_ENTRIES = 1 << 17
"""Entries of inverted lists from which a search for the nearest sets looks for a first bound."""

SQL_BYTES = 2**24
"""Bytes of texts that an SQL function shingles at a time."""

TABLE_ROWS = 1 << 17
"""Rows of a result table made at a time."""
PLACED_ROWS = 1 << 22
"""Passages whose places in the texts are found at a time: each time the texts are read again."""
ROW_GROUP = 1 << 17
"""Rows in a row group of a result table."""
RECUT_PAIRS = 1 << 20
"""Rows of pairs.parquet read at a time when a result is cut at another threshold."""

INDEX_COMMIT = 50_000
"""Documents committed together when a source is added. Band keys are spread over their table: large batches write
fewer pages twice."""
INDEX_COMMIT_BYTES = 2**28
"""Bytes committed together: long documents are committed sooner, since an interrupt loses uncommitted ones."""
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
"""Rows of `bands` that these queries find together, unless one query alone finds more."""
INDEX_SKETCH_BYTES = 2**25
"""Bytes of sketches compared together."""
INDEX_SHINGLES = 2**20
"""Shingles of documents verified together."""
INDEX_COMPARED = 2**22
"""Pairs of query and document whose shared shingles are counted together."""
INDEX_RUN = 16384
"""Maximum number of documents in one run."""

FETCH_PIECE = 1 << 23
"""Bytes of a remote object that a thread fetches at a time."""
COPIED_OBJECT = 1 << 32
"""Bytes up to which an uploaded object is copied to its place by the server; S3 copies at most 5 GiB."""
FETCH_PAUSE = 0.5
"""Seconds before a failed request is repeated for the first time; each further pause is twice as long."""
FETCH_SILENCE = 60.0
"""Seconds without a byte after which a server is taken to be gone."""

BUCKET_DOCUMENTS = 1 << 15
"""Documents of a bucket that a Spark task compares with each other; a larger bucket is cut into pieces."""
FAMILY_SHINGLES = 1 << 22
"""Shingles of a family that a Spark task verifies; a larger family is cut into pieces."""
CLUSTERED_PAIRS = 1 << 20
"""Pairs that one Spark task clusters; more are first decided in rounds."""
BROADCAST_ROWS = 1 << 19
"""Rows of a table of ids that Spark sends to all tasks: a fixed number, since the driver holds them."""
