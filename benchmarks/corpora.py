"""The corpora of the benchmarks, written once into the work folder and found there again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.corpus import families_path, make_recipe, write_corpus, write_sample
from benchmarks.measure import Setting, say
from benchmarks.templates import write_filled_forms, write_identical


def generated(setting: Setting, documents: int, copies: float = 0.3) -> Path:
    """A corpus with planted near-copies (or none: `copies=0`, all documents unrelated)."""
    kind = "corpus" if copies else "unrelated"
    target = setting.work / f"{kind}-{documents}.parquet"
    return written_once(target, lambda path: write_corpus(path, make_recipe(documents, copies)))


def sampled(corpus: Path, documents: int) -> Path:
    """A sample of whole families; the corpus itself when it is no larger."""
    if pq.read_metadata(corpus).num_rows <= documents:
        return corpus
    target = corpus.with_name(f"{corpus.stem}-sample-{documents}.parquet")
    return written_once(target, lambda path: write_sample(path, corpus, documents))


def identical(setting: Setting, documents: int) -> Path:
    return written_once(setting.work / f"identical-{documents}.parquet", lambda path: write_identical(path, documents))


def filled_forms(setting: Setting, documents: int, similarities: tuple[float, ...]) -> Path:
    name = f"forms-{len(similarities)}x{documents}.parquet"
    return written_once(setting.work / name, lambda path: write_filled_forms(path, documents, similarities))


def written_once(path: Path, write: Callable[[Path], object]) -> Path:
    """Write beside and rename, so that a broken run leaves no half corpus."""
    if not path.exists():
        say(f"  writing {path.name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"partial-{path.name}")
        write(partial)
        if families_path(partial).exists():
            families_path(partial).rename(families_path(path))
        partial.rename(path)
    return path


def text_bytes(corpus: Path) -> int:
    """Bytes of text in the corpus."""
    batches = pq.ParquetFile(corpus).iter_batches(10_000, columns=["text"])
    return sum(int(pc.sum(pc.binary_length(batch["text"])).as_py()) for batch in batches)
