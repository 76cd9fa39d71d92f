"""A virtual environment for each peer, with pinned versions from PyPI: their dependencies disagree."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import BenchmarkError, say

ARROW = "pyarrow==26.0.1"
TEXT_DEDUP = ("text-dedup==0.4.0", ARROW)
DATATROVE = ("datatrove[processing]==0.10.1", "spacy==3.8.18", ARROW)


@dataclass(frozen=True)
class Peer:
    """A contestant: what to install, which program runs it, on how many documents of a full-size corpus.

    `found` is the probability that its bands find a pair at similarity 0.8, by theory.
    """

    name: str
    packages: tuple[str, ...]
    module: str
    documents: int
    cores: int
    setup: str
    found: float
    home: str = ""

    @property
    def folder(self) -> str:
        return self.home or self.packages[0].partition("==")[0].partition("[")[0]


def _found(bands: int, rows: int) -> float:
    return float(1 - (1 - 0.8**rows) ** bands)


PEERS = (
    Peer(
        "gaoya", ("gaoya==0.2.2", ARROW), "benchmarks.peers.gaoya_lsh", 200_000, 2,
        "128 hashes, 16×8, its word analyzer, parallel insert and query", _found(16, 8),
    ),
    Peer(
        "rensa", ("rensa==0.5.0", ARROW), "benchmarks.peers.rensa_lsh", 200_000, 1,
        "RMinHash of all shingles, RMinHashLSH, 128 hashes, 16×8, shingled in Python", _found(16, 8),
    ),
    Peer(
        "datasketch", ("datasketch==2.0.0", ARROW), "benchmarks.peers.datasketch_lsh", 200_000, 1,
        "MinHash.update_batch, MinHashLSH, 128 hashes, 9×13 (its choice), shingled in Python", _found(9, 13),
    ),
    Peer(
        "text-dedup", TEXT_DEDUP, "benchmarks.peers.text_dedup_minhash", 20_000, 1,
        "fingerprint and cluster steps of its minhash command, 128 hashes, 9×13 (its choice), sha1 (its default)",
        _found(9, 13),
    ),
    Peer(
        "text-dedup, 2 processes", TEXT_DEDUP, "benchmarks.peers.text_dedup_minhash", 20_000, 2,
        "the same on two processes", _found(9, 13),
    ),
    Peer(
        "text-dedup xxh3, 2 processes", TEXT_DEDUP, "benchmarks.peers.text_dedup_xxh3", 20_000, 2,
        "the same with the faster of its hashes", _found(9, 13),
    ),
    Peer(
        "datatrove", DATATROVE, "benchmarks.peers.datatrove_minhash", 4_000, 1,
        "signature, bucket and cluster steps, 112 hashes, 14×8 (its default)", _found(14, 8),
    ),
    Peer(
        "datatrove, 2 processes", DATATROVE, "benchmarks.peers.datatrove_minhash", 4_000, 2,
        "the same on two processes", _found(14, 8),
    ),
)  # fmt: skip


def interpreter(peer: Peer, venvs: Path) -> Path:
    """The Python of the peer's environment, made and filled at the first call."""
    folder = venvs / peer.folder
    stamp = folder / ".ready"
    python = folder / "bin" / "python"
    wanted = "\n".join(peer.packages)
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    say(f"  installing {', '.join(peer.packages)}")
    _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages])
    stamp.write_text(wanted)
    return python


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]
        raise BenchmarkError(f"{' '.join(command)} failed: {' '.join(said[-3:])}")
