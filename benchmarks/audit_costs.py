"""What an audit costs, kind of shingle by kind of shingle: processor time of a run with its audit and without.

`python -m benchmarks.audit_costs [--documents 20000] [--only latin/char:4,cyrillic] [--before FOLDER]` runs `twinset
pairs` as a whole process, with and without its audit in turn, several times, and prints a line a kind: the least
processor time of each, their ratio, which is to be 1.25 at most, and how many documents the audit has looked at.
`--before` names another checkout, which is measured in the same turns. It is none of the benchmarks of `make bench`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.corpora import generated, written_once
from benchmarks.measure import ROOT, BenchmarkError, Setting

# Texts of some thousand characters are all alike in single ones: char:1 is only measured if asked, with few documents.
KINDS: dict[str, tuple[str, ...]] = {
    "latin": ("word:5", "word:2", "word:1", "char:9", "char:5", "char:4", "char:3", "word:1 --bag"),
    "cyrillic": ("word:5", "char:5", "char:3"),
    "han": ("word:5", "char:5", "char:2"),
    "short": ("word:5", "word:2", "char:5", "char:3"),
}
MOST = 1.25
FEW_WORDS, PIECES = 10, 10
LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхижклмнопярстувшыйз")
CAPITALS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "АБЦДЕФГХИЖКЛМНОПЯРСТУВШЫЙЗ")
IDEOGRAPHS = 6_000
HEAD = "| texts | documents | shingles | | without audit s | with audit s | ratio | | audited |"


def cyrillic(texts: list[str]) -> list[str]:
    """The same words in letters of two bytes."""
    return [text.translate(LETTERS).translate(CAPITALS) for text in texts]


def han(texts: list[str]) -> list[str]:
    """Each word one or two ideographs, with no space between them."""
    return ["".join(map(_ideographs, text.split())) for text in texts]


def _ideographs(word: str) -> str:
    number = zlib.crc32(word.strip(".,;:!?—").lower().encode())
    first, second = chr(0x4E00 + number % IDEOGRAPHS), chr(0x4E00 + number // IDEOGRAPHS % IDEOGRAPHS)
    mark = "。" if word.endswith(".") else "，" if word.endswith((",", ";")) else ""
    return (first if number % 3 else first + second) + mark


def short(texts: list[str]) -> list[str]:
    """Pieces of a few words, so many of each text."""
    words = [text.split()[: FEW_WORDS * PIECES] for text in texts]
    return [" ".join(one[at : at + FEW_WORDS]) for one in words for at in range(0, len(one), FEW_WORDS)]


SCRIPTS: dict[str, Callable[[list[str]], list[str]]] = {"cyrillic": cyrillic, "han": han, "short": short}


def corpus_of(setting: Setting, script: str, documents: int) -> Path:
    """The generated corpus, in another script if asked."""
    if script == "latin":
        return generated(setting, documents)
    source = generated(setting, documents if script != "short" else max(1, documents // PIECES))

    def write(path: Path) -> None:
        texts = SCRIPTS[script](pq.read_table(source)["text"].to_pylist())
        ids = pc.cast(pa.array(range(len(texts))), pa.string())
        pq.write_table(pa.table({"id": ids, "text": pa.array(texts)}), path, row_group_size=10_000)

    return written_once(setting.work / f"{script}-{documents}.parquet", write)


@dataclass
class Costs:
    """The least processor time of runs of one checkout without and with their audit, and what the last one said."""

    seconds: dict[bool, float] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)

    def add(self, audited: bool, seconds: float) -> None:
        self.seconds[audited] = min(seconds, self.seconds.get(audited, seconds))

    def line(self) -> str:
        """The cells of the table that one checkout fills."""
        ratio = self.seconds[True] / self.seconds[False]
        verdict = "" if ratio <= MOST else "too much"
        times = f"{self.seconds[False]:.2f} | {self.seconds[True]:.2f} | {ratio:.2f} | {verdict}"
        return f"{times} | {self.said['audit']['documents']:,}"


def run(checkout: Path, words: list[str]) -> tuple[float, dict[str, Any]]:
    """Processor time of a whole run by the code of a checkout, and its summary."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "twinset", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise BenchmarkError(f"exit code {done.returncode} of {' '.join(command)}\n{done.stderr.strip()[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(done.stdout)


def costs(setting: Setting, checkouts: list[Path], source: Path, shingle: str) -> list[Costs]:
    """Of each checkout; all are run in turn, so that what else the machine does falls on all alike."""
    out = setting.fresh("audit-costs.parquet")
    words = ["pairs", str(source), "--shingle", *shingle.split(), "--threshold", "0.8", "--quiet", "--json"]
    words += ["--force", "-o", str(out)]
    found = [Costs() for _ in checkouts]
    for turn in range(setting.repeat + 1):
        for checkout, one in zip(checkouts, found, strict=True):
            for audited in (False, True):
                seconds, one.said = run(checkout, [*words, *([] if audited else ["--audit", "0"])])
                if turn:  # the first may have to compile, and to read from disk
                    one.add(audited, seconds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what an audit costs.")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--only", help=f"of {', '.join(KINDS)}, or one kind such as latin/char:1; joined by commas")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--before", type=Path, help="another checkout to measure in the same turns")
    parser.add_argument("--work", type=Path, default=ROOT / "benchmarks" / ".work")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    setting = Setting(work, work, quick=False, repeat=arguments.repeat, memory="", mccormick=None, clough=None)
    checkouts = [ROOT] if arguments.before is None else [arguments.before.resolve(), ROOT]
    print(HEAD)
    print("|---" * HEAD.count("| ") + "|")
    for kind in arguments.only.split(",") if arguments.only else KINDS:
        script, _, asked = kind.partition("/")
        source = corpus_of(setting, script, arguments.documents)
        for shingle in [asked] if asked else KINDS[script]:
            for checkout, one in zip(checkouts, costs(setting, checkouts, source, shingle), strict=True):
                which = "now" if checkout == ROOT else "before"
                count = one.said["documents"]
                print(f"| {script} | {count:,} | {shingle} | {which} | {one.line()} |", flush=True)


if __name__ == "__main__":
    main()
