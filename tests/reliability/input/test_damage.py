"""A damaged state file is an error that names it, or does no harm; it never changes a result."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import twinset as library
from tests.reliability.command import STATE, bytes_of, documents, struck, twinset, write_lines
from twinset.errors import StateError

FILES = [
    "manifest.json", "names", "status", "counts", "digests", "keys", "bytes", "lengths", "sources", "candidates",
    "pairs", "sizes",
]  # fmt: skip


class Case:
    """A source, its right result, and the states that runs killed after each stage left behind."""

    def __init__(self, folder: Path) -> None:
        self.source = write_lines(folder / "in.jsonl", documents(300))
        self.out = folder / "result"
        self.state = Path(f"{self.out}{STATE}")
        assert twinset(*self.words, "-o", folder / "clean").code == 0
        self.right = bytes_of(folder / "clean")
        self.left = {}
        for stage, next_file in (("sketches", "candidates"), ("candidates", "pairs"), ("pairs", "out/kept")):
            died = struck("KILL", 1, f"result{STATE}/{next_file}", *self.words, "-o", self.out)
            assert died.code == -signal.SIGKILL
            self.left[stage] = folder / f"left-{stage}"
            self.state.rename(self.left[stage])

    @property
    def words(self) -> list[object]:
        return ["dedup", self.source, "--keep", "longest"]

    def put_back(self, stage: str) -> None:
        for place in (self.out, self.state):
            shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.left[stage], self.state)

    def run(self, name: str) -> bool:
        """Run again, and check what comes of it; tells whether the damage was noticed."""
        said = ""
        try:
            library.dedup(str(self.source), output=self.out, keep="longest")
        except StateError as error:
            said = str(error)
        if said:
            assert name in said
            assert "start the run again" in said
            assert not self.out.exists()
            return True
        assert bytes_of(self.out) == self.right
        assert not self.state.exists()
        return False


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("damage"))


def damages(data: bytes) -> Iterator[bytes]:
    """Cut short, grown, and with one bit wrong, at places all over the file."""
    yield b""
    for size in {1, len(data) // 3, len(data) - 1} - {len(data)}:
        yield data[: max(0, size)]
    yield data + b"more"
    for at in range(0, len(data), max(1, len(data) // 12)):
        yield data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("stage", "name"),
    [*(("pairs", name) for name in FILES), ("sketches", "keys"), ("sketches", "bytes"), ("candidates", "candidates")],
)
def test_every_file_cut_and_flipped(case: Case, stage: str, name: str) -> None:
    whole = case.left[stage] / name
    data = whole.read_bytes() if whole.exists() else b""
    noticed = []
    for damaged in damages(data):
        case.put_back(stage)
        (case.state / name).write_bytes(damaged)
        noticed.append(case.run(name))
    # What a later stage made superfluous is not read again, and may be damaged without harm.
    if (stage, name) not in (("pairs", "keys"), ("pairs", "bytes"), ("pairs", "candidates")):
        assert any(noticed) or not data


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_gone(case: Case, name: str) -> None:
    case.put_back("pairs")
    (case.state / name).unlink(missing_ok=True)
    case.run(name)


def test_what_the_command_says(case: Case) -> None:
    case.put_back("pairs")
    path = case.state / "pairs"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    twinset(*case.words, "-o", case.out).refused("pairs is damaged", "start the run again")
    assert not case.out.exists()
    shutil.rmtree(case.state, ignore_errors=True)
    assert twinset(*case.words, "-o", case.out).code == 0
    assert bytes_of(case.out) == case.right


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"sha256": 1, "body": 2}', b"\xff\xfe", b"[" * 100_000, b"0" * 10_000]
)
def test_a_manifest_that_is_something_else(case: Case, content: bytes) -> None:
    case.put_back("pairs")
    (case.state / "manifest.json").write_bytes(content)
    with pytest.raises(StateError, match=r"manifest.json is damaged; remove .* and start the run again"):
        library.dedup(str(case.source), output=case.out, keep="longest")
    assert not case.out.exists()
    assert case.state.exists()


def test_a_state_folder_that_is_a_file(case: Case) -> None:
    case.put_back("pairs")
    shutil.rmtree(case.state)
    case.state.write_bytes(b"")
    twinset(*case.words, "-o", case.out).refused(case.state.name)
    case.state.unlink()
