"""SQL functions in DuckDB: a join on bands gives the pairs of find_pairs, and every value is that of the textbook."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import twinset
from tests import oracles
from twinset.system import batch_sizes

ROSE = "a rose is a rose is a rose in any garden of the town"
CJK = "東京都は日本の首都であり、世界でも最大級の都市である"
JOIN = """
    WITH sketched AS MATERIALIZED (SELECT id, text, twinset_sketch(text) AS sketch FROM documents),
    bands AS MATERIALIZED (SELECT id, unnest(twinset_bands(text)) AS band FROM documents),
    near AS (
        SELECT DISTINCT a.id AS "left", b.id AS "right" FROM bands a JOIN bands b ON a.band = b.band AND a.id < b.id
    )
    SELECT "left", "right", twinset_jaccard(a.text, b.text) AS similarity,
        twinset_containment(a.text, b.text), twinset_containment(b.text, a.text)
    FROM near JOIN sketched a ON a.id = "left" JOIN sketched b ON b.id = "right"
    WHERE {filter} AND similarity >= {threshold}
"""
FILTER = "twinset_candidate(a.sketch, b.sketch)"
Row = tuple[Any, ...]


def some_texts(count: int = 240, seed: int = 7) -> list[str | None]:
    """Families of near-copies in two scripts, exact copies, short, empty and null texts, in a fixed random order."""
    rng = random.Random(seed)
    texts: list[str | None] = [
        None,
        "",
        " \n",
        "!?",
        None,
        "a",
        "A",
        "a b",
        CJK[:2],
        CJK[:2],
        "e\u0301te\u0301",
        "été",
        "x\0y",
    ]
    while len(texts) < count:
        words = [
            rng.choice(["rose", "garden", "town", "hall", "river", "Straße", "ÉTÉ", "mill"]) + str(rng.randrange(30))
            for _ in range(30)
        ]
        signs = [chr(rng.randrange(0x4E00, 0x4E40)) for _ in range(40)]
        for _ in range(4):
            texts += [" ".join(words), "".join(signs)]
            words[rng.randrange(30)] = f"other{rng.randrange(99)}"
            signs[rng.randrange(40)] = chr(rng.randrange(0x5E00, 0x5F00))
        texts.append(texts[rng.randrange(len(texts))])
    rng.shuffle(texts)
    return texts


def connected(texts: list[str | None], threads: int = 1, **options: Any) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": threads})
    table = pa.table({"id": pa.array(range(len(texts)), pa.int64()), "text": pa.array(texts, pa.string())})
    connection.register("arrow_table", table)
    connection.execute("CREATE TABLE documents AS SELECT * FROM arrow_table")
    connection.unregister("arrow_table")
    twinset.register(connection, **options)
    return connection


def joined(connection: duckdb.DuckDBPyConnection, threshold: float, filter: str = FILTER) -> set[Row]:
    return set(connection.execute(JOIN.format(threshold=threshold, filter=filter)).fetchall())


def found(texts: list[str | None], **options: Any) -> set[Row]:
    columns = twinset.find_pairs([None if one is None else one for one in texts], **options).pairs.to_pydict().values()
    return {(int(left), int(right), *scores) for left, right, *scores in zip(*columns, strict=True)}


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 0.5, "shingle": "word:2"},
        {"threshold": 0.8},
        {"threshold": 0.6, "shingle": "char:3", "sketch": "kperm", "recall": 0.9},
        {"threshold": 0.4, "shingle": "word:1", "bag": True, "seed": 99},
        {"threshold": 0.55, "shingle": "word:1", "lowercase": False, "split": False},
        {"threshold": 0.7, "shingle": "char:4", "spaces": False, "nfc": False, "n_hashes": 100, "rows_per_band": 3},
        {"threshold": 0.5, "shingle": "char:2", "squeeze": False, "n_hashes": 20, "n_bands": 20, "rows_per_band": 1},
    ],
    ids=str,
)
def test_the_join_on_bands_gives_the_pairs_of_find_pairs(options: dict[str, Any]) -> None:
    texts = some_texts()
    pairs = found(texts, **options)
    assert len(pairs) > 50
    assert joined(connected(texts, **options), options["threshold"]) == pairs


def test_all_with_all_gives_every_pair() -> None:
    texts = some_texts(150)
    options: dict[str, Any] = {"threshold": 0.3, "shingle": "word:1"}
    statement = (
        "SELECT a.id, b.id, twinset_jaccard(a.text, b.text) AS similarity, twinset_containment(a.text, b.text), "
        "twinset_containment(b.text, a.text) FROM documents a JOIN documents b ON a.id < b.id WHERE similarity >= 0.3"
    )
    assert set(connected(texts, **options).execute(statement).fetchall()) == found(texts, exact=True, **options)


def test_every_value_is_that_of_the_textbook() -> None:
    texts = [one for one in some_texts(60) if one is not None]
    connection = connected([*texts], shingle="char:3", threshold=0.7)
    rows = connection.execute(
        "SELECT a.id, b.id, twinset_jaccard(a.text, b.text) FROM documents a JOIN documents b ON a.id < b.id"
    )
    sets = [oracles.shingle_set(one, "char:3") for one in texts]
    expected = {
        (a, b): len(sets[a] & sets[b]) / max(1, len(sets[a] | sets[b])) for a, b in combinations(range(len(sets)), 2)
    }
    assert {(a, b): similarity for a, b, similarity in rows.fetchall()} == expected
    plan = twinset.plan(0.7)
    hashed = connection.execute(
        "SELECT text, twinset_shingles(text), twinset_bands(text), twinset_sketch(text) FROM documents"
    )
    for text, shingles, bands, sketch in hashed.fetchall():
        hashes = oracles.shingle_hashes(text, shingle="char:3")
        assert shingles == list(dict.fromkeys(hashes))
        slots = oracles.fss(hashes, plan.n_hashes) if hashes else []
        assert sketch == bytes(slot & 0xFF for slot in slots)
        assert bands == [
            oracles.band_key(slots, band, plan.rows_per_band) for band in range(plan.n_bands if slots else 0)
        ]


def test_find_pairs_drops_a_few_candidates_by_their_sketches() -> None:
    rng = random.Random(3)
    texts: list[str | None] = []
    for family in range(3000):
        shared = [f"s{family}x{word}" for word in range(40)]
        texts += [" ".join([*shared, *(f"{side}{family}x{word}" for word in range(20))]) for side in "ab"]
    rng.shuffle(texts)
    options: dict[str, Any] = {
        "threshold": 0.5,
        "shingle": "word:1",
        "n_hashes": 64,
        "n_bands": 64,
        "rows_per_band": 1,
        "sketch": "kperm",
    }
    connection, pairs = connected(texts, **options), found(texts, audit=0, **options)
    every = joined(connection, 0.5, "true")
    assert joined(connection, 0.5) == pairs
    assert pairs < every
    assert len(every) == 3000


def test_nulls_stay_null_and_empty_texts_resemble_nothing() -> None:
    connection = connected([None, "", "one two"], shingle="word:1")
    rows = connection.execute(
        "SELECT len(twinset_shingles(text)), len(twinset_bands(text)), octet_length(twinset_sketch(text)), "
        "twinset_jaccard(text, 'two three'), twinset_containment('two three', text), "
        "twinset_candidate(twinset_sketch(text), twinset_sketch('two one')), twinset_jaccard(text, text) "
        "FROM documents ORDER BY id"
    ).fetchall()
    assert rows == [
        (None,) * 7,
        (0, 0, 0, 0.0, 0.0, False, 0.0),
        (2, 16, 128, 1 / 3, 0.5, True, 1.0),
    ]
    constants = (
        "SELECT twinset_jaccard(NULL, 'a'), twinset_jaccard('a', 'A'), twinset_bands(NULL), twinset_shingles('')"
    )
    assert connection.execute(constants).fetchall() == [(None, 1.0, None, [])]
    assert connection.execute("SELECT twinset_jaccard(text, text) FROM documents WHERE id > 9").fetchall() == []
    one_null = "SELECT twinset_candidate(NULL, twinset_sketch('a')), twinset_jaccard(text, NULL) FROM documents"
    assert connection.execute(one_null).fetchall() == [(None, None)] * 3


def test_shingles_are_the_set_that_is_compared() -> None:
    texts = some_texts(80)
    connection = connected(texts, shingle="word:2")
    different = connection.execute(
        "SELECT a.id, b.id FROM documents a, documents b, "
        "LATERAL (SELECT twinset_shingles(a.text) AS s, twinset_shingles(b.text) AS t) "
        "WHERE len(s) > 0 AND len(list_intersect(s, t)) / len(list_distinct(s || t)) != twinset_jaccard(a.text, b.text)"
    )
    assert different.fetchall() == []
    repeated = (
        "SELECT count(*) FROM documents WHERE len(twinset_shingles(text)) != len(list_distinct(twinset_shingles(text)))"
    )
    assert connection.execute(repeated).fetchall() == [(0,)]


@pytest.mark.parametrize("setting", ["arrow_large_buffer_size", "produce_arrow_string_view"])
def test_other_layouts_of_strings(setting: str) -> None:
    texts = some_texts(100)
    connection = connected(texts, threshold=0.5, shingle="word:2")
    expected = joined(connection, 0.5)
    connection.execute(f"SET {setting} = true")
    assert joined(connection, 0.5) == expected


@pytest.mark.parametrize(("threads", "size"), [(1, 1), (1, 3000), (4, 2**24), (4, 700)])
def test_neither_threads_nor_portions_change_an_answer(
    threads: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*some_texts(200), *(f"{number} of many texts, number {number % 77}" for number in range(2500))]
    statement = (
        "SELECT a.id, twinset_shingles(a.text), twinset_bands(a.text), twinset_sketch(a.text), "
        "twinset_jaccard(a.text, b.text) FROM documents a JOIN documents b ON b.id = a.id + 1 ORDER BY a.id"
    )
    expected = connected(texts, shingle="word:2").execute(statement).fetchall()
    monkeypatch.setattr(batch_sizes, "SQL_BYTES", size)
    assert connected(texts, threads, shingle="word:2").execute(statement).fetchall() == expected


def test_long_texts() -> None:
    rng = random.Random(1)
    words = [f"w{rng.randrange(10**6)}" for _ in range(300_000)]
    texts: list[str | None] = [" ".join(words), " ".join(words[1000:]), "short", None]
    [row] = (
        connected(texts, threads=2)
        .execute(
            "SELECT a.id, b.id, twinset_jaccard(a.text, b.text) AS s FROM documents a JOIN documents b ON a.id < b.id "
            "WHERE s > 0"
        )
        .fetchall()
    )
    compared = twinset.compare(str(texts[0]), str(texts[1]))
    assert row == (0, 1, compared.similarity)


def test_registering_again_replaces_the_functions() -> None:
    connection = duckdb.connect()
    assert twinset.register(connection, threshold=0.5).threshold == 0.5
    twinset.register(connection, shingle="char:1")
    assert connection.execute("SELECT twinset_jaccard('abc', 'cab')").fetchall() == [(1.0,)]
    plan = twinset.register(connection, shingle="word:1", prefix="words", n_bands=7, rows_per_band=2)
    assert connection.execute("SELECT words_jaccard('abc', 'cab'), twinset_jaccard('abc', 'cab')").fetchall() == [
        (0.0, 1.0)
    ]
    assert connection.execute("SELECT len(words_bands('abc'))").fetchall() == [(7,)] == [(plan.n_bands,)]


def test_cursors_share_the_functions_of_a_database() -> None:
    connection = duckdb.connect()
    twinset.register(connection)
    cursor = connection.cursor()
    assert cursor.execute("SELECT twinset_jaccard('abc', 'abc')").fetchall() == [(1.0,)]
    with pytest.raises(twinset.OptionError, match="has a function twinset_shingles of another connection or cursor"):
        twinset.register(cursor)


def test_sketches_of_other_options_are_refused() -> None:
    connection = duckdb.connect()
    twinset.register(connection)
    twinset.register(connection, n_hashes=64, prefix="small")
    with pytest.raises(duckdb.InvalidInputException, match="a sketch has 64 bytes, and those of these options 128"):
        connection.execute("SELECT twinset_candidate(twinset_sketch('a'), small_sketch('a'))").fetchall()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.5}, r"threshold is 1\.5; allowed: a number above 0"),
        ({"shingle": "auto"}, "shingle is 'auto'; allowed here: word:K or char:K"),
        ({"treshold": 0.5}, "unknown option 'treshold'; did you mean 'threshold'"),
        ({"n_bands": 20, "rows_per_band": 20, "n_hashes": 100}, "more than n_hashes, 100"),
        ({"prefix": "Drop table;"}, "prefix is 'Drop table;'; allowed: up to 40 lower-case letters"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(twinset.OptionError, match=message):
        twinset.register(duckdb.connect(), **options)


def test_what_is_no_connection_is_refused() -> None:
    for other in ("news.duckdb", None, object()):
        with pytest.raises(twinset.OptionError, match="allowed: a connection of DuckDB, such as"):
            twinset.register(other)


def test_bands_that_cannot_reach_the_recall_are_used_with_a_warning() -> None:
    with pytest.warns(twinset.PlanWarning):
        twinset.register(duckdb.connect(), threshold=0.5, n_bands=2, rows_per_band=20)


def test_the_module_stands_for_its_own_connection() -> None:
    twinset.register(duckdb, prefix="module_test")
    assert duckdb.sql("SELECT module_test_jaccard('a b', 'A B')").fetchall() == [(1.0,)]
    duckdb.remove_function("module_test_jaccard")
