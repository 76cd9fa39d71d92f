"""Files changed at random places, and random ones: read rightly, or refused with their name; never anything else.

TWINSET_FUZZ_SECONDS is the time for all readers together (50 seconds unless set, an hour in ``make soak``), and
TWINSET_FUZZ_SEED the seed from which everything is drawn; a failure names it.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.readers import READERS, valid_files

SECONDS = float(os.environ.get("TWINSET_FUZZ_SECONDS") or 50)
SEED = int(os.environ.get("TWINSET_FUZZ_SEED") or 1)
ROOT = Path(__file__).parents[2]
LIMIT = 120
"""Seconds for one file: one that is never done is a failure."""

_TELLING = [b"\0", b"\xff", b"\x80", b'"', b"\n", b"\r", b",", b"{", b"}", b"[", b"\\", b"\xed\xa0\x80", b"1e999", b"-"]
_TELLING += [
    number.to_bytes(size, "little") for size in (4, 8) for number in (0, 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 1)
]


@st.composite
def changed(draw: st.DrawFn, files: list[bytes]) -> bytes:
    """A good file with a few changes, or bytes that were never one."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=300))
    data = bytearray(draw(st.sampled_from(files)))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 40)))
        how = draw(st.sampled_from(["flip", "put", "insert", "cut", "repeat", "end", "random"]))
        if how == "flip" and at < len(data):
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "put":
            piece = draw(st.sampled_from(_TELLING))
            data[at : at + len(piece)] = piece
        elif how == "insert":
            data[at:at] = draw(st.sampled_from(_TELLING))
        elif how == "cut":
            del data[at:end]
        elif how == "repeat":
            data[at:at] = data[at:end]
        elif how == "end":
            del data[at:]
        elif how == "random":
            data[at:end] = draw(st.binary(max_size=12))
    return bytes(data)


class Child:
    """The process that reads; a new one where the last has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, reader: str, path: Path) -> tuple[str, str]:
        """What came of reading a file: ok, refused, wrong or died, and what was said."""
        if self._process is None:
            words = [sys.executable, "-m", "tests.fuzz.readers"]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            # The system's allocator returns what is freed; Arrow's own would use up the address space bit by bit.
            environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}
            self._process = subprocess.Popen(  # type: ignore[call-overload]
                words, cwd=ROOT, text=True, env=environment, **pipes
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([reader, str(path)]) + "\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            answer = process.stdout.readline() if waiting.select(LIMIT) else ""
        if answer:
            what, said = json.loads(answer)
            return what, said
        late = process.poll() is None and not answer
        self.close()
        return "died", f"no answer after {LIMIT} seconds" if late and process.returncode == -9 else str(
            process.returncode
        )

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            try:
                self._process.wait(1)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with closing(Child()) as one:
        yield one


def try_changes(reader: str, good: list[bytes], path: Path, child: Child, seed: int) -> Counter[str]:
    """Read fifty changed files, all drawn from the seed, and count what became of them."""
    outcomes: Counter[str] = Counter()
    until = time.monotonic() + 10 * LIMIT

    @hypothesis.seed(seed)
    @settings(
        max_examples=50, database=None, derandomize=False, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(changed(good))
    def attempt(data: bytes) -> None:
        if time.monotonic() > until:
            return  # a failure has been made smaller for long enough
        path.write_bytes(data)
        what, said = child.ask(reader, path)
        outcomes[what] += 1
        assert what in ("ok", "refused"), f"TWINSET_FUZZ_SEED={seed}: {what}: {said}"
        assert what == "ok" or path.name in said, f"TWINSET_FUZZ_SEED={seed}: the file is not named: {said}"
        assert "\n" not in said, f"TWINSET_FUZZ_SEED={seed}: more than one line: {said}"

    attempt()
    return outcomes


@pytest.mark.timeout(SECONDS + 20 * LIMIT)
@pytest.mark.parametrize("reader", READERS)
def test_a_changed_file_is_read_rightly_or_refused(reader: str, child: Child, tmp_path: Path) -> None:
    files = valid_files(reader, tmp_path)
    for path in files:
        what, said = child.ask(reader, path)
        assert what == "ok", f"{path.name}: {said}"
    good = [path.read_bytes() for path in files]
    outcomes: Counter[str] = Counter()
    until, seed = time.monotonic() + SECONDS / len(READERS), SEED
    while seed == SEED or time.monotonic() < until:
        outcomes += try_changes(reader, good, tmp_path / f"given{READERS[reader][0]}", child, seed)
        seed += 1
    print(f"{reader}: seeds {SEED} to {seed - 1}, {dict(outcomes)}")
    assert outcomes["ok"] > 0
    assert outcomes["refused"] > 0
