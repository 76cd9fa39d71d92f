"""Join near-duplicates in SQL: stories of one source that another source has too, with DuckDB."""

from pathlib import Path

import duckdb

import twinset

NEWS = Path(__file__).parent / "news.jsonl"
JOIN = """
    WITH bands AS MATERIALIZED (SELECT id, source, unnest(twinset_bands(text)) AS band FROM news),
    near AS (
        SELECT DISTINCT a.id AS wire, b.id AS other
        FROM bands a JOIN bands b ON a.band = b.band AND a.source = 'wire' AND b.source != 'wire'
    )
    SELECT wire, other, twinset_jaccard(a.text, b.text) AS similarity
    FROM near JOIN news a ON a.id = wire JOIN news b ON b.id = other
    WHERE similarity >= 0.7 ORDER BY wire, similarity DESC, other
"""


def main() -> None:
    """List each story of the wire with the stories of other sources that are like it."""
    connection = duckdb.connect()
    plan = twinset.register(connection, threshold=0.7)
    print(f"plan: {plan}")
    connection.execute("CREATE TABLE news AS SELECT * FROM read_json(?)", [str(NEWS)])
    for wire, other, similarity in connection.execute(JOIN).fetchall():
        print(f"{wire} is like {other}: {similarity:.4f}")


if __name__ == "__main__":
    main()
