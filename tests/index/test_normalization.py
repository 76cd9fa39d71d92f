"""An index records what normalised its texts and warns when that has changed; other upgrades are quiet."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import twinset
from tests.index.conftest import Place
from twinset.cli import main
from twinset.errors import DamagedError, NormalizationWarning
from twinset.index import settings

OTHER = "0" * 32


def made(place: Place, changes: dict[str, Any], **options: Any) -> str:
    """An index that another version of Arrow might have made."""
    where = place.new()
    with twinset.Index.create(where, seed=1, **options) as index:
        index.add(["a"], ["ein Text"])
        recorded = index.stats()["normalization"]
    place.run(where, "UPDATE settings SET value = ? WHERE name = 'normalization'", json.dumps({**recorded, **changes}))
    return where


def test_it_is_recorded(where: str) -> None:
    with twinset.Index.create(where) as index:
        recorded = index.stats()["normalization"]
        assert (recorded["arrow"], recorded["unicode"]) == (pa.__version__, "14.0.0")
        assert len(recorded["nfc"]) == len(recorded["lowercase"]) == 32


@pytest.mark.parametrize("changes", [{}, {"arrow": "1.0.0"}, {"arrow": "99.0.0", "unicode": "99.0.0"}])
def test_another_version_with_the_same_result_is_quiet(place: Place, changes: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twinset.Index.open(made(place, changes)).close()


@pytest.mark.parametrize(
    ("options", "changes", "steps"),
    [
        ({}, {"nfc": OTHER}, "(NFC)"),
        ({}, {"lowercase": OTHER}, "(lower case)"),
        ({}, {"lowercase": OTHER, "nfc": OTHER}, "(NFC and lower case)"),
        ({"nfc": False}, {"lowercase": OTHER, "nfc": OTHER}, "(lower case)"),
    ],
)
def test_another_result_is_said(place: Place, options: dict[str, Any], changes: dict[str, Any], steps: str) -> None:
    where = made(place, {"arrow": "1.0.0", **changes}, **options)
    with pytest.warns(NormalizationWarning, match="made with Arrow 1.0.0, and Arrow .* may not be found") as said:
        index = twinset.Index.open(where)
    assert steps in str(said[0].message)
    with index:
        assert index.query("ein Text")["id"].to_pylist() == ["a"]  # a warning is no error


def test_a_step_that_the_index_does_not_use_is_not_compared(place: Place) -> None:
    where = made(place, {"arrow": "1.0.0", "nfc": OTHER, "lowercase": OTHER}, nfc=False, lowercase=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twinset.Index.open(where).close()


def test_an_index_without_it_opens_as_before(place: Place) -> None:
    where = made(place, {})
    place.run(where, "DELETE FROM settings WHERE name = 'normalization'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with twinset.Index.open(where) as index:
            assert index.stats()["normalization"] is None
            index.add(["b"], ["noch ein Text"])


@pytest.mark.parametrize("value", ["[1]", '{"arrow": "1"}', "x"])
def test_a_record_that_is_none_is_damage(place: Place, value: str) -> None:
    where = made(place, {})
    place.run(where, "UPDATE settings SET value = ? WHERE name = 'normalization'", value)
    with pytest.raises(DamagedError, match="settings of the index are damaged"):
        twinset.Index.open(where)


def test_an_import_keeps_the_record_of_what_it_imports(place: Place, tmp_path: Path) -> None:
    with twinset.Index.open(made(place, {"arrow": "1.0.0"})) as index:
        index.export(tmp_path / "a.parquet")
    with twinset.Index.import_from(tmp_path / "a.parquet", place.new()) as index:
        assert index.stats()["normalization"]["arrow"] == "1.0.0"


def test_the_command_line_says_it_once(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    where = made(place, {"arrow": "1.0.0", "nfc": OTHER})
    assert main(["index", "stats", where]) == 0
    said = capsys.readouterr()
    assert said.err.count("warning: ") == 1
    assert "normalisation" in said.out
    assert "Arrow 1.0.0, Unicode 14.0.0" in said.out


def test_the_probe_holds_every_code_point_that_changes() -> None:
    probed = {point for first, end in settings._PROBED for point in range(first, end)}
    others = [chr(point) for point in range(0x80, 0x110000) if point not in probed and not 0xD800 <= point < 0xE000]
    rows = pa.array(others, pa.large_string())
    for changed in (pc.utf8_lower(rows), pc.utf8_normalize(rows, form="NFC")):
        assert pc.all(pc.equal(changed, rows)).as_py()


def test_digests_see_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = settings.Normalization.installed()

    def changed(point: str, to: str) -> settings.Normalization:
        lower = pc.utf8_lower
        monkeypatch.setattr(pc, "utf8_lower", lambda text: pa.array([lower(text)[0].as_py().replace(point, to)]))
        return settings.Normalization.installed.__wrapped__(settings.Normalization)  # type: ignore[attr-defined]

    theirs = changed("\U0001e943", "\U0001e921")  # one letter of Adlam
    assert theirs.nfc == ours.nfc
    assert theirs.lowercase != ours.lowercase
