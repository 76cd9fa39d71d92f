"""Options: checked when made, worded once, spelled on the command line as in Python."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset import OptionError
from twinset.options import (
    CompareOptions,
    DedupOptions,
    Options,
    PairsOptions,
    PlanOptions,
    ReadOptions,
    RunOptions,
    ShingleOptions,
)
from twinset.options.checks import parse_shingle, parse_size, shown_size, whole
from twinset.options.keep_rules import parse_keep
from twinset.system.memory import default_memory, default_threads

GROUPS = [ReadOptions, ShingleOptions, PlanOptions, RunOptions, PairsOptions, DedupOptions, CompareOptions]


@pytest.mark.parametrize("group", GROUPS)
def test_the_defaults_are_allowed_and_in_their_one_form(group: type[Options]) -> None:
    made = group.of()
    assert {name: getattr(made, name) for name, _ in group.specs()} == group.defaults()


@pytest.mark.parametrize("group", GROUPS)
def test_every_option_says_what_it_does_and_what_is_allowed(group: type[Options]) -> None:
    for name, word in group.specs():
        assert word.help.endswith("."), name
        assert word.allowed, name
        assert word.spellings(name), name
        assert group.group_of(name), name


def test_no_two_options_share_a_flag() -> None:
    for group in GROUPS:
        flags = [flag for name, word in group.specs() for flag in word.spellings(name)]
        assert len(flags) == len(set(flags))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"threshold": math.nan}, "threshold is nan; allowed: a number above 0 and up to 1"),
        ({"threshold": 0}, "threshold is 0; allowed:"),
        ({"threshold": 1.5}, "threshold is 1.5; allowed:"),
        ({"threshold": "0.8"}, "threshold is '0.8'; allowed:"),
        ({"threshold": None}, "threshold is None; allowed:"),
        ({"threshold": True}, "threshold is True; allowed:"),
        ({"recall": 1.0}, "recall is 1.0; allowed: a number above 0 and below 1"),
        ({"n_hashes": 10**9}, "n_hashes is 1000000000; allowed: a whole number from 1 to 65536"),
        ({"n_hashes": 2.0}, "n_hashes is 2.0; allowed:"),
        ({"seed": -1}, "seed is -1; allowed: a whole number from 0 to 18446744073709551615"),
        ({"seed": 2**64}, "allowed: a whole number from 0"),
        ({"n_hashes": 128, "n_bands": 16, "rows_per_band": 9}, "16 × 9 = 144, more than n_hashes"),
        ({"threads": 0}, "threads is 0; allowed:"),
        ({"memory": "lots"}, "memory is 'lots'; allowed: bytes, or a number with"),
        ({"memory": "1MB"}, "at least 512 MB"),
        ({"batch_bytes": 1}, "at least 1 KiB"),
        ({"shingle": "word"}, "shingle is 'word'; allowed: word:K or char:K"),
        ({"shingle": "char:0"}, "shingle is 'char:0'; allowed:"),
        ({"shingle": "byte:4"}, "shingle is 'byte:4'; allowed:"),
        ({"shingle": 5}, "shingle is 5; allowed:"),
        ({"encoding": "klingon"}, "encoding is 'klingon'; allowed:"),
        ({"encoding": "rot13"}, "encoding is 'rot13'; allowed:"),
        ({"on_error": "ignore"}, "on_error is 'ignore'; allowed: replace, stop or skip"),
        ({"sketch": "simhash"}, "sketch is 'simhash'; allowed: fss or kperm"),
        ({"text": ""}, "text is ''; allowed: the name of a column"),
        ({"by": 3}, "by is 3; allowed: the name of a column"),
        ({"include": 7}, "include is 7; allowed: one pattern or a list of them"),
        ({"lowercase": "no"}, "lowercase is 'no'; allowed: True or False"),
        ({"scratch": 4}, "scratch is 4; allowed: the path of a folder"),
        ({"keep": "newest"}, "newest needs a column, such as newest:date"),
        ({"keep": "shortest"}, "'shortest' is not a rule; allowed: first, longest"),
        ({"keep": "longest:words"}, "longest takes no column"),
        ({"keep": "longest,longest"}, "appears twice"),
        ({"keep": "first,longest"}, "nothing can follow first"),
        ({"keep": ""}, "'' is not a rule"),
        ({"keep": None}, "keep is None; allowed: first"),
        ({"keep": "source,longest", "vectors": True}, 'keep="longest" cannot be used with vectors=True: its items'),
        ({"cluster": "louvain"}, "cluster is 'louvain'; allowed: leader, components or complete"),
        ({"treshold": 0.8}, "unknown option 'treshold'; did you mean 'threshold'?"),
        ({"hashes": 64}, "unknown option 'hashes'; did you mean 'n_hashes'?"),
        ({"zzz": 1}, "unknown option 'zzz'; the options are text, items"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_allowed(words: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        DedupOptions.of(**words)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_audit_of_what_is_exact_anyway_is_refused() -> None:
    with pytest.raises(OptionError, match="audit cannot be used with exact=True and top=: all vectors are compared"):
        PairsOptions.of(vectors=True, exact=True, top=3, audit=10)
    assert PairsOptions.of(vectors=True, exact=True, top=3, audit=0).top == 3


def test_a_wrong_option_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match="threshold"):
        PlanOptions(threshold=7)


def test_options_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PlanOptions().threshold = 0.5  # type: ignore[misc]


def test_values_are_brought_to_one_form() -> None:
    made = DedupOptions.of(
        memory="2GB",
        encoding="latin1",
        keep=" source , newest:date",
        include="*.txt",
        scratch=Path("s"),
        threshold=1,
    )
    assert (made.memory, made.encoding, made.keep) == (2 * 10**9, "iso8859-1", "source,newest:date")
    assert (made.include, made.scratch, made.threshold) == (("*.txt",), "s", 1.0)
    assert made.keep_rules == (("source", None), ("newest", "date"))
    assert DedupOptions.of(against=None).against == ()


def test_shingles_are_parsed() -> None:
    made = ShingleOptions.of(shingle="char:9")
    assert (made.kind, made.size) == ("char", 9)


def test_how_the_work_is_done_is_no_part_of_the_result() -> None:
    one = DedupOptions.of(threads=1, memory="1GB", scratch="a", batch_bytes=4096, force=True)
    other = DedupOptions.of(threads=2, memory="2GB", scratch="b", batch_bytes=8192)
    assert one.to_dict() == other.to_dict()
    assert not set(one.to_dict()) & {"threads", "memory", "scratch", "batch_bytes", "force"}
    assert one.to_dict(result_only=False)["memory"] == 10**9


def test_options_are_ready_for_json() -> None:
    values = PairsOptions.of(against=[Path("old.jsonl"), object()]).to_dict()
    assert values["against"] == ["old.jsonl", "<object>"]
    assert json.loads(json.dumps(values)) == values


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("512", 512),
        ("512b", 512),
        ("1k", 1000),
        ("1kB", 1000),
        ("1KiB", 1024),
        ("512MiB", 512 * 2**20),
        ("1.5G", 1_500_000_000),
        (" 2 gb ", 2 * 10**9),
        (".5TiB", 2**39),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1", "1ib", "1XB", "1,5GB", "nan", "1e9", "٣GB", "1GB2"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(OptionError, match="is not a size"):
        parse_size(text)


@given(st.integers(0, 10**14))
def test_a_shown_size_is_near_the_size(size: int) -> None:
    assert parse_size(shown_size(size).replace(" bytes", "")) == pytest.approx(size, rel=0.06)


@given(st.text())
def test_no_text_breaks_a_parser(text: str) -> None:
    for parse in (parse_size, parse_shingle, parse_keep):
        with contextlib.suppress(OptionError):
            parse(text)


def test_the_machine_has_something_to_offer() -> None:
    assert default_memory() >= 256 * 10**6
    assert default_threads() >= 1
    assert RunOptions.of(threads=3).thread_count == 3
    assert RunOptions().memory_bytes >= 256 * 10**6


@pytest.mark.parametrize("value", [True, False, 1.0, "3", None])
def test_a_whole_number_is_a_whole_number(value: object) -> None:
    """True is 1 to Python, and never what is meant by a count."""
    with pytest.raises(OptionError, match="a whole number from 0 to 9"):
        whole(0, 9)("count", value)
