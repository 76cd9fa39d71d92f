"""dedup and recut obey verdicts: against brute force, for every clustering method, and after every kind of re-run."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twinset
from tests.pictures import encoded, scene
from twinset.verdicts import Content, Draft, VerdictStore

METHODS = ("leader", "complete", "components")
Pair = frozenset[str]


@dataclass
class Judged:
    """Verdicts by id, as a person gave them."""

    duplicates: set[Pair]
    different: set[Pair]
    principals: set[str]


def contents_of(result: Any) -> dict[str, Content]:
    recorded = result.recorded
    digests = [row.tobytes() for row in recorded.digests]
    return {id: Content(digest, id) for id, digest in zip(recorded.ids.to_pylist(), digests, strict=True)}


def store(path: Path, result: Any, judged: Judged) -> None:
    contents = contents_of(result)
    drafts = [
        Draft("duplicate", *(contents[id] for id in sorted(pair))) for pair in sorted(judged.duplicates, key=sorted)
    ]
    drafts += [
        Draft("different", *(contents[id] for id in sorted(pair))) for pair in sorted(judged.different, key=sorted)
    ]
    drafts += [Draft("principal", contents[id]) for id in sorted(judged.principals)]
    with VerdictStore(path, basis=result.recorded.basis) as verdicts:
        verdicts.append([])  # which makes the file, also if nothing follows
        if drafts:
            verdicts.judge_all(drafts, who="Ann")


def clusters(
    ids: list[str], near: set[Pair], judged: Judged, method: str, rank: Callable[[str], Any]
) -> dict[str, str]:
    """The kept document of each, by brute force."""
    edges = (near - judged.different) | judged.duplicates
    order = sorted(ids, key=lambda id: (id not in judged.principals, rank(id)))

    def linked(one: str, other: str) -> bool:
        return frozenset((one, other)) in edges

    kept_by: dict[str, str] = {}
    if method == "components":
        for best in order:
            if best in kept_by:
                continue
            kept_by[best] = best
            waiting = [best]
            while waiting:
                one = waiting.pop()
                for other in order:
                    barred = frozenset((best, other)) in judged.different
                    if other not in kept_by and linked(one, other) and not barred:
                        kept_by[other] = best
                        waiting.append(other)
        return kept_by
    for id in order:
        heads = [one for one in order if kept_by.get(one) == one]
        members = {head: [one for one in kept_by if kept_by[one] == head] for head in heads}
        forced = [head for head in heads if frozenset((id, head)) in judged.duplicates]
        fitting = [
            head
            for head in heads
            if (linked(id, head) if method == "leader" else all(linked(id, one) for one in members[head]))
        ]
        joins = (forced + fitting) if method == "complete" else fitting
        kept_by[id] = joins[0] if joins else id
    return kept_by


def outcome(result: Any) -> dict[str, str]:
    return dict(zip(result.clusters["id"].to_pylist(), result.clusters["cluster"].to_pylist(), strict=True))


def near_pairs(result: Any, threshold: float) -> set[Pair]:
    rows = result.pairs.to_pylist()
    return {frozenset((row["left"], row["right"])) for row in rows if row["similarity"] >= threshold}


def check_promises(result: Any, judged: Judged) -> None:
    """No removal because of a pair judged different; of two duplicates at most one is kept; no verdict is lost."""
    because = dict(zip(result.removed["id"].to_pylist(), result.removed["because_of"].to_pylist(), strict=True))
    for id, kept in because.items():
        assert frozenset((id, kept)) not in judged.different
    for pair in judged.duplicates:
        assert any(id in because for id in pair), pair
    facts = result.summary["verdicts"]
    assert facts["duplicate"] == len(judged.duplicates)
    assert facts["different"] == len(judged.different)
    assert facts["principal"] == len(judged.principals)
    assert not any(facts["unused"].values())
    said = dict(zip(result.removed["id"].to_pylist(), result.removed["verdict"].to_pylist(), strict=True))
    for id, verdict in said.items():
        assert (verdict == "duplicate") == (frozenset((id, because[id])) in judged.duplicates)
    assert facts["removed"] == sum(verdict == "duplicate" for verdict in said.values())


def sets(seed: int, count: int) -> dict[str, list[int]]:
    """Sets in a few families, so that many pairs are near 0.5, each distinct."""
    rng = random.Random(seed)
    families = [rng.sample(range(1000), 8) for _ in range(max(1, count // 4))]
    made: dict[str, list[int]] = {}
    while len(made) < count:
        items = sorted({*rng.choice(families)} ^ {rng.randrange(1000, 1010) for _ in range(rng.randint(0, 4))})
        if items not in made.values():
            made[f"d{len(made):02}"] = items
    return made


@st.composite
def judgements(draw: st.DrawFn, ids: list[str]) -> Judged:
    pairs = [frozenset((one, other)) for one in ids for other in ids if one < other]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=14))
    at = draw(st.integers(0, len(chosen)))
    principals = draw(st.sets(st.sampled_from(ids), max_size=3))
    return Judged(set(chosen[:at]), set(chosen[at:]), principals)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_verdicts_are_obeyed_as_by_brute_force(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("judged")
    items = sets(data.draw(st.integers(0, 2**32)), data.draw(st.integers(2, 14)))
    ids = list(items)
    judged = data.draw(judgements(ids))
    rows = [{"id": id, "items": some} for id, some in items.items()]
    options = {"items": "items", "threshold": 0.5, "floor": 0.3, "progress": False, "audit": 0}
    plain = twinset.dedup(rows, **options)
    store(folder / "v.verdicts", plain, judged)
    for method in METHODS:
        for threshold in (0.5, 0.8):
            expected = clusters(ids, near_pairs(plain, threshold), judged, method, ids.index)
            chosen = {"cluster": method, "verdicts": folder / "v.verdicts"}
            recut = plain.recut(threshold, **chosen)
            fresh = twinset.dedup(rows, **{**options, "threshold": threshold, **chosen})
            for result in (recut, fresh):
                assert outcome(result) == expected
                check_promises(result, judged)
            assert recut.removed.equals(fresh.removed)
            assert recut.summary["verdicts"] == fresh.summary["verdicts"]


def test_without_verdicts_on_it_nothing_changes(tmp_path: Path) -> None:
    rows = [{"id": id, "items": some} for id, some in sets(7, 60).items()]
    plain = twinset.dedup(rows, items="items", threshold=0.5, cluster="complete")
    store(tmp_path / "v", plain, Judged(set(), set(), set()))
    for method in METHODS:
        again = plain.recut(cluster=method, verdicts=tmp_path / "v")
        assert outcome(again) == outcome(plain.recut(cluster=method))
        assert again.removed.drop_columns(["verdict"]).equals(plain.recut(cluster=method).removed)


# Every kind of item, and what an exact score below the threshold is.

ROSE = "a rose is a rose is a rose in any garden of the old town by the river where nobody goes"
TEXTS = {"a": ROSE, "b": f"{ROSE} now", "c": f"{ROSE} today", "d": "something else altogether, of which nobody speaks"}
NEAR, FAR = frozenset("ab"), frozenset("cd")


def kinds() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Four items of each kind: a, b and c are near each other, d is not."""
    words = {id: text.split() for id, text in TEXTS.items()}
    bits = {"a": 0, "b": 1, "c": 2, "d": 2**64 - 1}
    vectors = {"a": [1.0, 0.0, 0.1], "b": [1.0, 0.0, 0.12], "c": [1.0, 0.0, 0.15], "d": [-1.0, 3.0, 0.0]}
    return {
        "texts": ([{"id": id, "text": text} for id, text in TEXTS.items()], {"threshold": 0.7}),
        "characters": (
            [{"id": id, "text": text} for id, text in TEXTS.items()],
            {"shingle": "char:5", "threshold": 0.7},
        ),
        "contained": ([{"id": id, "text": text} for id, text in TEXTS.items()], {"contained": 0.8}),
        "records": (
            [{"id": id, "text": text, "city": "Rome"} for id, text in TEXTS.items()],
            {"text": ("text,word:2", "city"), "threshold": 0.5},
        ),
        "items": ([{"id": id, "items": some} for id, some in words.items()], {"items": "items", "threshold": 0.7}),
        "groups": (
            [{"g": id, "word": word} for id, some in words.items() for word in some],
            {"group": "g", "item": "word", "threshold": 0.7},
        ),
        "weighted": (
            [{"g": id, "word": word, "n": 1} for id, some in words.items() for word in some],
            {"group": "g", "item": "word", "weight": "n", "threshold": 0.7},
        ),
        "codes": ([{"id": id, "code": code} for id, code in bits.items()], {"codes": "code"}),
        "vectors": ([{"id": id, "v": v} for id, v in vectors.items()], {"vectors": "v", "threshold": 0.9}),
        "distances": ([{"id": id, "v": v} for id, v in vectors.items()], {"vectors": "v", "distance": 0.5}),
    }


@pytest.mark.parametrize("kind", list(kinds()))
def test_every_kind_of_item(kind: str, tmp_path: Path) -> None:
    rows, options = kinds()[kind]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = twinset.dedup(source, **options, output=tmp_path / "OUT")
    kept = plain.clusters.filter(plain.clusters["kept"])["id"].to_pylist()
    assert set(plain.removed["id"].to_pylist()) | set(kept) == set("abcd")
    assert plain.summary["kept"] == 2
    judged = Judged({FAR}, {NEAR}, {"c"})
    store(tmp_path / "OUT.verdicts", plain, judged)
    methods = ("leader",) if "contained" in options else METHODS
    for method in methods:
        recut = twinset.recut(tmp_path / "OUT", verdicts=True, cluster=method, output=tmp_path / f"R{method}")
        fresh = twinset.dedup(source, **options, cluster=method, verdicts=tmp_path / "OUT.verdicts")
        for result in (recut, fresh):
            check_promises(result, judged)
            because = dict(zip(*(result.removed[name].to_pylist() for name in ("id", "because_of")), strict=True))
            assert because["d"] == "c"  # principal, and judged a duplicate, however far
            assert "c" not in because
        assert recut.removed.equals(fresh.removed)
        assert twinset.open_result(tmp_path / f"R{method}").removed.equals(fresh.removed)
    score = fresh.removed.filter([id == "d" for id in fresh.removed["id"].to_pylist()]).to_pylist()[0]
    assert score.get("distance", 99) > 3
    assert score.get("similarity", 0.0) < options.get("threshold", 1.0)


def test_groups_do_not_keep_duplicates_apart(tmp_path: Path) -> None:
    rows = [{"id": id, "text": text, "lang": lang} for (id, text), lang in zip(TEXTS.items(), "xxyy", strict=True)]
    plain = twinset.dedup(rows, by="lang", threshold=0.7)
    assert plain.removed["id"].to_pylist() == ["b"]
    store(tmp_path / "v", plain, Judged({frozenset("ac")}, {NEAR}, set()))
    for result in (
        plain.recut(verdicts=tmp_path / "v"),
        twinset.dedup(rows, threshold=0.7, by="lang", verdicts=tmp_path / "v"),
    ):
        assert outcome(result) == {"a": "a", "b": "b", "c": "a", "d": "d"}
    # The digests are those of the contents, whatever the groups.
    assert contents_of(plain) == contents_of(twinset.dedup(rows, threshold=0.7))


def test_equal_contents_in_several_groups_follow_one_verdict(tmp_path: Path) -> None:
    rows = [{"id": f"{id}{lang}", "text": TEXTS[id], "lang": lang} for lang in "xy" for id in "ab"]
    plain = twinset.dedup(rows, by="lang", threshold=0.7)
    assert plain.removed["id"].to_pylist() == ["bx", "by"]
    store(tmp_path / "v", plain, Judged(set(), {frozenset(("ax", "bx"))}, set()))
    assert not plain.recut(verdicts=tmp_path / "v").removed.num_rows


def test_copies_share_a_verdict(tmp_path: Path) -> None:
    rows = [{"id": f"{id}{copy}", "text": TEXTS[id]} for copy in range(3) for id in "abd"]
    plain = twinset.dedup(rows, threshold=0.7)
    assert plain.summary["kept"] == 2
    store(tmp_path / "v", plain, Judged({frozenset(("a0", "d0"))}, {frozenset(("a1", "b2"))}, set()))
    result = twinset.dedup(rows, threshold=0.7, verdicts=tmp_path / "v")
    assert result.clusters.filter(result.clusters["kept"])["id"].to_pylist() == ["a0", "b0"]
    verdicts = dict(zip(*(result.removed[name].to_pylist() for name in ("id", "verdict")), strict=True))
    assert verdicts == {
        "a1": None,
        "a2": None,
        "b1": None,
        "b2": None,
        **dict.fromkeys(("d0", "d1", "d2"), "duplicate"),
    }
    assert result.removed.equals(plain.recut(verdicts=tmp_path / "v").removed)


def test_against_another_source(tmp_path: Path) -> None:
    own, other = [{"id": id, "text": TEXTS[id]} for id in "abd"], [{"id": "c", "text": TEXTS["c"]}]
    options = {"against": [other], "threshold": 0.7}
    plain = twinset.dedup(own, **options)
    assert plain.removed["id"].to_pylist() == ["a", "b"]
    contents = contents_of(plain)
    assert contents == contents_of(twinset.dedup([*own, *other], threshold=0.7))  # the same on both sides
    with VerdictStore(tmp_path / "v", basis=plain.recorded.basis) as verdicts:
        verdicts.judge("different", contents["a"], contents["c"], who="Ann")
        verdicts.judge("duplicate", contents["c"], contents["d"], who="Ann")
        verdicts.judge("duplicate", contents["a"], contents["b"], who="Ann")
        verdicts.name_principal(contents["b"], who="Ann")
    for result in (plain.recut(verdicts=tmp_path / "v"), twinset.dedup(own, **options, verdicts=tmp_path / "v")):
        assert result.removed["id"].to_pylist() == ["d"]
        assert result.removed["verdict"].to_pylist() == ["duplicate"]
        facts = result.summary["verdicts"]
        assert (facts["duplicate"], facts["different"], facts["principal"]) == (1, 1, 1)
        assert facts["unused"] == {"unsure": 0, "absent": 0, "other_basis": 0, "one_side": 1}


# The same verdicts after a re-run, with other ids, rows shuffled, other shards and another threshold.


def rewritten(folder: Path, how: str, rows: list[dict[str, Any]]) -> list[Path]:
    rng = random.Random(3)
    rows = [dict(row) for row in rows]
    if how == "other ids":
        rows = [{**row, "id": f"new-{row['id']}"} for row in rows]
    if how in ("shuffled", "other shards"):
        rng.shuffle(rows)
    if how == "more documents":
        rows += [{"id": f"more{number}", "items": [5000 + number, *range(9)]} for number in range(50)]
        rng.shuffle(rows)
    parts = [rows[start::3] for start in range(3)] if how == "other shards" else [rows]
    paths = []
    for number, part in enumerate(parts):
        paths.append(folder / f"{how} {number}.jsonl")
        paths[-1].write_text("".join(json.dumps(row) + "\n" for row in part))
    return paths


@pytest.mark.parametrize(
    "how", ["again", "other ids", "shuffled", "other shards", "more documents", "another threshold"]
)
def test_every_verdict_survives(how: str, tmp_path: Path) -> None:
    items = sets(11, 300)
    rows = [{"id": id, "items": some} for id, some in items.items()]
    options = {"items": "items", "keep": "longest", "floor": 0.3, "audit": 0}
    plain = twinset.dedup(rows, **options, threshold=0.5)
    rng = random.Random(5)
    near = sorted(near_pairs(plain, 0.5), key=sorted)
    ids = list(items)
    judged = Judged(
        {frozenset(rng.sample(ids, 2)) for _ in range(60)}, set(rng.sample(near, 60)), set(rng.sample(ids, 20))
    )
    judged.different -= judged.duplicates
    store(tmp_path / "v", plain, judged)
    threshold = 0.7 if how == "another threshold" else 0.5
    sources = rewritten(tmp_path, how, rows)
    bare = twinset.dedup(*sources, **options, threshold=threshold, output=tmp_path / "OUT")
    prefix = "new-" if how == "other ids" else ""
    renamed = Judged(
        *({frozenset(prefix + id for id in pair) for pair in some} for some in (judged.duplicates, judged.different)),
        {prefix + id for id in judged.principals},
    )
    every = {prefix + id: some for id, some in items.items()} | {
        f"more{number}": [5000 + number, *range(9)] for number in range(50 if how == "more documents" else 0)
    }
    near_now = near_pairs(bare, threshold)
    for method in METHODS:
        expected = clusters(list(every), near_now, renamed, method, lambda id: (-len(every[id]), id.encode()))
        fresh = twinset.dedup(*sources, **options, threshold=threshold, cluster=method, verdicts=tmp_path / "v")
        recut = twinset.recut(tmp_path / "OUT", verdicts=tmp_path / "v", cluster=method)
        for result in (fresh, recut):
            check_promises(result, renamed)  # all of them are used
            assert outcome(result) == expected


def tables(result: Any) -> dict[str, Any]:
    return {name: getattr(result, name) for name in ("removed", "clusters", "pairs")} | {
        "verdicts": result.summary["verdicts"]
    }


def test_threads_batches_and_memory_change_nothing(tmp_path: Path) -> None:
    items = sets(21, 400)
    rows = [{"id": id, "items": some} for id, some in items.items()]
    source = rewritten(tmp_path, "again", rows)[0]
    plain = twinset.dedup(source, items="items", threshold=0.5, output=tmp_path / "OUT")
    rng, ids = random.Random(1), list(items)
    near = sorted(near_pairs(plain, 0.5), key=sorted)
    store(
        tmp_path / "OUT.verdicts",
        plain,
        Judged({frozenset(rng.sample(ids, 2)) for _ in range(50)}, set(rng.sample(near, 50)), set(rng.sample(ids, 9))),
    )
    for method in METHODS:
        chosen = {"items": "items", "threshold": 0.5, "verdicts": tmp_path / "OUT.verdicts", "cluster": method}
        first = tables(twinset.dedup(source, **chosen, threads=1))
        for more in ({"threads": 3, "batch_bytes": 1024}, {"threads": 2, "batch_bytes": 5000, "memory": 600 * 2**20}):
            found = tables(twinset.dedup(source, **chosen, **more))
            assert all(
                found[name] == one if name == "verdicts" else found[name].equals(one) for name, one in first.items()
            )


def test_a_conflict_is_named_and_each_verdict_obeyed(tmp_path: Path) -> None:
    rows = [{"id": id, "text": text} for id, text in TEXTS.items()]
    plain = twinset.dedup(rows, threshold=0.7)
    judged = Judged({frozenset("ad"), frozenset("cd")}, {frozenset("ac")}, {"a", "d"})
    store(tmp_path / "v", plain, judged)
    for method in METHODS:
        result = plain.recut(cluster=method, verdicts=tmp_path / "v")
        check_promises(result, judged)
        facts = result.summary["verdicts"]
        assert facts["in_conflict"] == 2
        assert sorted(map(sorted, facts["conflicts"])) == [["a", "c", "d"], ["a", "d"]]
        assert facts["principals_removed"] == ["d"]


def test_what_is_undone_withdrawn_or_unsure_is_not_obeyed(tmp_path: Path) -> None:
    rows = [{"id": id, "text": text} for id, text in TEXTS.items()]
    plain = twinset.dedup(rows, threshold=0.7)
    contents = contents_of(plain)
    with VerdictStore(tmp_path / "v", basis=plain.recorded.basis) as verdicts:
        verdicts.judge("different", contents["a"], contents["b"], who="Ann")
        verdicts.judge("undecided", contents["b"], contents["a"], who="Bob")
        verdicts.judge("unsure", contents["a"], contents["c"], who="Ann")
        verdicts.judge("duplicate", contents["a"], contents["d"], who="Ann")
        verdicts.undo(who="Ann")
    result = twinset.dedup(rows, threshold=0.7, verdicts=tmp_path / "v")
    assert outcome(result) == outcome(plain)
    assert result.summary["verdicts"]["unused"] == {"unsure": 1, "absent": 0, "other_basis": 0, "one_side": 0}


def test_verdicts_that_do_not_apply_are_counted(tmp_path: Path) -> None:
    rows = [{"id": id, "text": text} for id, text in TEXTS.items()]
    plain = twinset.dedup(rows, threshold=0.7)
    store(tmp_path / "v", plain, Judged({frozenset("ad")}, {frozenset("ab")}, {"c"}))
    fewer = twinset.dedup(rows[1:], threshold=0.7, verdicts=tmp_path / "v").summary["verdicts"]
    assert (fewer["duplicate"], fewer["different"], fewer["principal"]) == (0, 0, 1)
    assert fewer["unused"] == {"unsure": 0, "absent": 2, "other_basis": 0, "one_side": 0}
    other = twinset.dedup(rows, threshold=0.7, shingle="char:9", verdicts=tmp_path / "v").summary["verdicts"]
    assert other["unused"] == {"unsure": 0, "absent": 0, "other_basis": 3, "one_side": 0}


def test_a_recut_without_verdicts_is_without_them(tmp_path: Path) -> None:
    rows = [{"id": id, "text": text} for id, text in TEXTS.items()]
    plain = twinset.dedup(rows, threshold=0.7)
    store(tmp_path / "v", plain, Judged({frozenset("ad")}, {frozenset("ab")}, set()))
    judged = twinset.dedup(rows, threshold=0.7, verdicts=tmp_path / "v")
    again = judged.recut()
    assert "verdicts" not in again.summary
    assert again.removed.equals(plain.removed)
    assert judged.rethreshold(verdicts=tmp_path / "v").removed.equals(judged.removed)


def test_explain_and_report_say_that_people_judged(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()))
    plain = twinset.dedup(source, threshold=0.7, output=tmp_path / "OUT")
    store(tmp_path / "OUT.verdicts", plain, Judged({frozenset("ad")}, set(), set()))
    judged = twinset.recut(tmp_path / "OUT", verdicts=True, output=tmp_path / "OUT2")
    account = twinset.open_result(tmp_path / "OUT2").explain("d")
    assert (account.state, account.cluster) == ("removed", "a")
    assert [row["verdict"] for row in account.members.to_pylist() if row["id"] == "d"] == ["duplicate"]
    page = judged.report(tmp_path / "page.html").read_text()
    assert "For 1 of these, people judged the two to be duplicates" in page
    assert "people judged" not in plain.report(tmp_path / "plain.html").read_text()
    assert "duplicate" in judged._repr_html_()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"index": "x.twinset"}, "verdicts cannot be used with index"),
        ({"engine": "spark"}, "pairs judged duplicate are compared in the memory of one machine"),
    ],
)
def test_what_cannot_obey_verdicts_refuses_them(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v") as verdicts:
        verdicts.append([])
    with pytest.raises(twinset.OptionError, match=words):
        twinset.dedup([{"id": "a", "text": "b"}], verdicts=tmp_path / "v", **options)


def test_a_missing_file_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(twinset.StateError, match="no such file of verdicts"):
        twinset.dedup(tmp_path / "missing.jsonl", verdicts=tmp_path / "v")
    plain = twinset.dedup(["a b c d e f", "a b c d e f g"])
    with pytest.raises(twinset.OptionError, match="no folder"):
        plain.recut(verdicts=True)


def test_verdicts_in_a_folder_of_sources_are_not_read_as_a_source(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for id, text in TEXTS.items():
        (folder / f"{id}.txt").write_text(text)
    plain = twinset.dedup(folder, threshold=0.7)
    contents = contents_of(plain)
    verdicts = VerdictStore(folder / "OUT.verdicts", basis=plain.recorded.basis)
    verdicts.judge("different", contents["a.txt"], contents["b.txt"], who="Ann")
    again = twinset.dedup(folder, threshold=0.7, verdicts=folder / "OUT.verdicts")  # while it is open, with its log
    verdicts.close()
    assert again.summary["documents"] == 4
    assert again.removed["id"].to_pylist() == ["c.txt"]


def test_a_run_that_resumes_obeys_the_verdicts_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()))
    plain = twinset.dedup(source, threshold=0.7)
    store(tmp_path / "v", plain, Judged(set(), {frozenset("ab")}, set()))
    options = {"threshold": 0.7, "verdicts": tmp_path / "v", "output": tmp_path / "OUT"}

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr("twinset.engines.local.run.cluster.cluster", stop)
        with pytest.raises(KeyboardInterrupt):
            twinset.dedup(source, **options)
    store(tmp_path / "v", plain, Judged({frozenset("ad")}, set(), set()))  # judged while the run was stopped
    resumed = twinset.dedup(source, **options)
    assert "pairs" in resumed.summary["timings"]["resumed"]
    assert outcome(resumed) == {"a": "a", "b": "b", "c": "a", "d": "a"}
    assert (tmp_path / "OUT/removed.parquet").read_bytes() == (
        twinset.dedup(source, **{**options, "output": tmp_path / "NEW"}).path / "removed.parquet"
    ).read_bytes()


def test_pictures_obey_verdicts(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    first = scene(1)
    for name, picture in {"a": first, "b": first.crop((4, 3, 160, 120)), "c": scene(2)}.items():
        (folder / f"{name}.png").write_bytes(encoded(picture))
    plain = twinset.dedup(folder, images=True, output=tmp_path / "OUT")
    assert plain.removed["id"].to_pylist() == ["b.png"]
    store(
        tmp_path / "OUT.verdicts",
        plain,
        Judged({frozenset(("a.png", "c.png"))}, {frozenset(("a.png", "b.png"))}, set()),
    )
    for result in (
        twinset.recut(tmp_path / "OUT", verdicts=True),
        twinset.dedup(folder, images=True, verdicts=tmp_path / "OUT.verdicts"),
    ):
        assert outcome(result) == {"a.png": "a.png", "b.png": "b.png", "c.png": "a.png"}
        assert result.removed["distance"][0].as_py() > 6


def test_a_result_of_nothing(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("")
    with VerdictStore(tmp_path / "v") as verdicts:
        verdicts.append([])
    empty = twinset.dedup(source, verdicts=tmp_path / "v", output=tmp_path / "OUT")
    assert empty.summary["verdicts"]["removed"] == 0
    assert twinset.recut(tmp_path / "OUT", verdicts=tmp_path / "v").summary["kept"] == 0
