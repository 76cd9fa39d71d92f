"""The tables of an index in PostgreSQL: those of SQLite, in one schema."""

from __future__ import annotations

from twinset.index.settings import FORMAT

_SETTINGS = 'CREATE TABLE settings (name text COLLATE "C" PRIMARY KEY, value text NOT NULL)'
_SHINGLES = "CREATE TABLE shingles (document integer PRIMARY KEY, hashes bytea NOT NULL)"
_POSTINGS = "CREATE TABLE {} (key integer NOT NULL, document integer NOT NULL, PRIMARY KEY (key, document))"
_BANDS = _POSTINGS.format("bands")
TABLES: dict[int, dict[str, str]] = {
    1: {
        "settings": _SETTINGS,
        "documents": (
            'CREATE TABLE documents (number integer PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, '
            "shingles integer NOT NULL, text bytea)"
        ),
        "shingles": _SHINGLES,
        "sketches": "CREATE TABLE sketches (document integer PRIMARY KEY, slots bytea NOT NULL)",
        "bands": _BANDS,
    },
    2: {
        "settings": _SETTINGS,
        "documents": (
            'CREATE TABLE documents (number integer PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, text bytea)'
        ),
        "shingles": _SHINGLES,
        "sketches": (
            "CREATE TABLE sketches (document integer PRIMARY KEY, shingles integer NOT NULL, slots bytea NOT NULL)"
        ),
        "bands": _BANDS,
    },
}
"""The tables of each format. Format 3 has those of 2."""
TABLES[4] = {**TABLES[2], "anchors": _POSTINGS.format("anchors"), "samples": _POSTINGS.format("samples")}
NAMES = tuple(TABLES[FORMAT])

COUNT_CHANGE = (
    "INSERT INTO settings SELECT %s, '1' WHERE txid_current_if_assigned() IS NOT NULL "
    "ON CONFLICT (name) DO UPDATE SET value = (CAST(settings.value AS bigint) + 1)::text"
)
"""Count a transaction that has changed something."""

STORAGE = (
    # Texts are already compressed, and hashes cannot be compressed.
    "ALTER TABLE documents ALTER text SET STORAGE EXTERNAL",
    "ALTER TABLE shingles ALTER hashes SET STORAGE EXTERNAL",
    "ALTER TABLE sketches ALTER slots SET STORAGE EXTERNAL",
)

COLUMNS = {
    1: {
        *(("settings", "name", "text"), ("settings", "value", "text")),
        *(("documents", "number", "integer"), ("documents", "id", "text"), ("documents", "shingles", "integer")),
        *(("documents", "text", "bytea"), ("shingles", "document", "integer"), ("shingles", "hashes", "bytea")),
        *(("sketches", "document", "integer"), ("sketches", "slots", "bytea")),
        *(("bands", "key", "integer"), ("bands", "document", "integer")),
    },
    2: {
        *(("settings", "name", "text"), ("settings", "value", "text")),
        *(("documents", "number", "integer"), ("documents", "id", "text"), ("documents", "text", "bytea")),
        *(("shingles", "document", "integer"), ("shingles", "hashes", "bytea")),
        *(("sketches", "document", "integer"), ("sketches", "shingles", "integer"), ("sketches", "slots", "bytea")),
        *(("bands", "key", "integer"), ("bands", "document", "integer")),
    },
}
COLUMNS[4] = COLUMNS[2] | {
    *(("anchors", "key", "integer"), ("anchors", "document", "integer")),
    *(("samples", "key", "integer"), ("samples", "document", "integer")),
}
"""Table, column and type of each format, to recognise an index."""

EXISTING = (
    "SELECT c.relname, a.attname, format_type(a.atttypid, NULL) FROM pg_class AS c "
    "JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r' AND c.relname = ANY(%s) AND NOT c.relhastriggers "
    "AND NOT c.relhasrules"
)
LOOK_UP = "SELECT key, document FROM {} WHERE key = ANY(%s::integer[])"
"""Candidates: documents that share a key with the query in a table of postings."""
FIRST_POSTINGS = (
    "SELECT w.key, b.document FROM unnest(%s::integer[]) AS w(key) CROSS JOIN LATERAL "
    "(SELECT document FROM {} WHERE key = w.key ORDER BY document LIMIT %s) AS b"
)
"""The same, but only the first documents of each key."""
SKETCH_PAGE = "SELECT document, shingles, slots FROM sketches WHERE document > %s ORDER BY document LIMIT %s"

_ALONE = "SELECT count(*) FROM {0} AS s WHERE NOT EXISTS (SELECT 1 FROM documents WHERE number = s.document)"
ORPHANS = {
    "documents without a sketch": (
        "SELECT count(*) FROM documents AS d WHERE NOT EXISTS (SELECT 1 FROM sketches WHERE document = d.number)"
    ),
    "sketches without a document": _ALONE.format("sketches"),
    "shingles without a document": _ALONE.format("shingles"),
}

AS_NEW = {
    1: (
        "CREATE TEMP VIEW sketches AS SELECT s.document, d.shingles, s.slots "
        "FROM {schema}.sketches AS s JOIN {schema}.documents AS d ON d.number = s.document",
        "CREATE TEMP VIEW documents AS SELECT number, id, text FROM {schema}.documents",
    ),
    2: (
        "CREATE TEMP VIEW anchors AS SELECT 0 AS key, 0 AS document WHERE false",
        "CREATE TEMP VIEW samples AS SELECT 0 AS key, 0 AS document WHERE false",
    ),
}
"""Temporary views that show the tables of an older format in the newest."""

UP = {
    1: (
        "DROP VIEW IF EXISTS pg_temp.sketches",
        "DROP VIEW IF EXISTS pg_temp.documents",
        "ALTER TABLE {schema}.sketches ADD COLUMN shingles integer",
        "UPDATE {schema}.sketches AS s SET shingles = d.shingles FROM {schema}.documents AS d "
        "WHERE d.number = s.document",
        "ALTER TABLE {schema}.sketches ALTER COLUMN shingles SET NOT NULL",
        "ALTER TABLE {schema}.documents DROP COLUMN shingles",
    ),
    2: (
        "DROP VIEW IF EXISTS pg_temp.anchors",
        "DROP VIEW IF EXISTS pg_temp.samples",
        _POSTINGS.format("{schema}.anchors"),
        _POSTINGS.format("{schema}.samples"),
    ),
}
"""Statements that convert each older format to the next."""


def older_formats(format: int) -> list[int]:
    """Return this format and those after it, without the newest."""
    return [one for one in TABLES if format <= one < FORMAT]


HOLDER = (
    "SELECT a.application_name, a.client_addr::text, a.backend_start::timestamp(0)::text FROM pg_locks AS l "
    "JOIN pg_stat_activity AS a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted "
    "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND l.classid = %s AND l.objid = (%s::bigint & 4294967295)::oid"
)
