"""Files of records, and the state folder they lie in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from twinset.engines.local.state import RunState, fingerprint
from twinset.errors import OutputError, StateError
from twinset.system.scratch import Spool, packed, unpacked


def test_records_come_back(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "<u4", 2)
    records = [np.arange(2 * size, dtype=np.uint32).reshape(-1, 2) for size in (3, 0, 5)]
    for record in records:
        spool.append(record)
    for _ in range(2):
        assert (len(spool), spool.nbytes) == (8, 64)
        for record, back in zip(records, spool.chunks(), strict=True):
            np.testing.assert_array_equal(back, record)
        np.testing.assert_array_equal(spool.all(), np.concatenate(records))
        spool.close()
        spool.forget()
    again = Spool(spool.path, "<u4", 2, spool.records)
    np.testing.assert_array_equal(again.all(), np.concatenate(records))
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_no_records(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "<u8")
    assert (len(spool), list(spool.chunks()), spool.all().tolist()) == (0, [], [])
    assert not spool.path.exists()


def test_every_flipped_bit_and_every_cut_is_noticed(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", "u1")
    for size in (5, 9):
        spool.append(np.arange(size, dtype=np.uint8))
    spool.close()
    spool.forget()
    data = spool.path.read_bytes()
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        spool.path.write_bytes(damaged)
        with pytest.raises(StateError, match="spool is damaged"):
            spool.all()
    for size in range(len(data)):
        spool.path.write_bytes(data[:size])
        with pytest.raises(StateError, match="spool is damaged"):
            spool.all()
    spool.path.unlink()
    with pytest.raises(StateError, match="spool cannot be read"):
        spool.all()


def test_a_spool_in_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot write .*No such file"):
        Spool(tmp_path / "none" / "spool", "u1").append(np.zeros(1, np.uint8))


def test_batches_as_records() -> None:
    batch = pa.record_batch({"id": ["a", None, "é"], "n": [1, 2, 3]})
    assert unpacked(packed(batch)).equals(batch)


def finished(folder: Path, mark: str) -> RunState:
    state = RunState(folder, mark)
    spool = state.spool("numbers", "<u4")
    spool.append(np.arange(5, dtype=np.uint32))
    state.finish("first", {"found": ["ü", 1]}, {"numbers": spool})
    return state


def test_a_finished_stage_is_recalled(tmp_path: Path) -> None:
    finished(tmp_path / "state", "mark").close(keep=True)
    state = RunState(tmp_path / "state", "mark")
    assert state.resumed == ["first"]
    facts, spools = state.recall("first") or ({}, {})
    assert facts == {"found": ["ü", 1]}
    assert spools["numbers"].all().tolist() == [0, 1, 2, 3, 4]
    assert state.recall("second") is None
    state.close(keep=False)
    assert not (tmp_path / "state").exists()


def test_another_mark_starts_anew(tmp_path: Path) -> None:
    finished(tmp_path / "state", "mark").close(keep=True)
    state = RunState(tmp_path / "state", "other")
    assert (state.resumed, state.recall("first")) == ([], None)
    assert not (tmp_path / "state/numbers").exists()
    state.close(keep=True)
    assert not (tmp_path / "state").exists()  # nothing was finished that one could go on from


def test_only_one_at_a_time(tmp_path: Path) -> None:
    first = finished(tmp_path / "state", "mark")
    with pytest.raises(StateError, match="another run uses"):
        RunState(tmp_path / "state", "mark")
    assert (tmp_path / "state/numbers").exists()
    first.close(keep=False)


def test_scratch_elsewhere_is_removed(tmp_path: Path) -> None:
    state = RunState(tmp_path / "state", "mark", tmp_path / "scratch")
    assert state.scratch.parent == tmp_path / "scratch"
    (state.scratch / "file").write_text("")
    state.close(keep=False)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_fingerprints_tell_everything_apart() -> None:
    facts = [{"a": 1}, {"a": 2}, {"a": "1"}, {"b": 1}, {"a": [1]}, {"a": 1, "b": 1}]
    assert len({fingerprint(one) for one in facts}) == len(facts)
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
