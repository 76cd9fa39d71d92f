"""The corpora of the benchmarks, written once into the work folder and found there again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.corpus import MEAN_WORDS, SEED, families_path, make_recipe, write_corpus, write_sample
from benchmarks.measure import Setting, say
from benchmarks.templates import write_filled_forms, write_identical


def generated(setting: Setting, documents: int, copies: float = 0.3) -> Path:
    """A corpus with planted near-copies (or none: `copies=0`, all documents unrelated)."""
    kind = "corpus" if copies else "unrelated"
    target = setting.work / f"{kind}-{documents}.parquet"
    return written_once(target, lambda path: write_corpus(path, make_recipe(documents, copies)))


def short_texts(setting: Setting, documents: int) -> Path:
    """The generated corpus with a twelfth of the words: about 250 bytes a document."""

    def write(path: Path) -> None:
        recipe = make_recipe(documents)
        write_corpus(path, replace(recipe, lengths=np.maximum(recipe.lengths // 12, 20)))

    return written_once(setting.work / f"short-{documents}.parquet", write)


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


def headed(setting: Setting, documents: int, words: int) -> Path:
    """Unrelated documents that all begin with the same words."""

    def write(path: Path) -> None:
        table = pq.read_table(generated(setting, documents, copies=0))
        header = " ".join(pq.read_table(generated(setting, 100, copies=0))["text"][0].as_py().split()[:words])
        _put_before(table, header, path)

    return written_once(setting.work / f"headed-{documents}.parquet", write)


def lengthened(setting: Setting, documents: int, words: int) -> Path:
    """The same unrelated documents, each beginning with as many words of its own."""

    def write(path: Path) -> None:
        table = pq.read_table(generated(setting, documents, copies=0))
        others = pq.ParquetFile(_others(setting, documents * words))
        headers: list[str] = []
        rest: list[str] = []
        for batch in others.iter_batches(1_000, columns=["text"]):
            rest += [word for text in batch["text"].to_pylist() for word in text.split()]
            whole = len(rest) // words * words
            headers += [" ".join(rest[at : at + words]) for at in range(0, whole, words)]
            rest = rest[whole:]
        _put_before(table, pa.array(headers[:documents]), path)

    return written_once(setting.work / f"lengthened-{documents}.parquet", write)


def _others(setting: Setting, words: int) -> Path:
    """Unrelated documents that are in no other corpus, with at least so many words in all."""
    documents = words * 5 // (MEAN_WORDS * 4) + 100
    target = setting.work / f"others-{documents}.parquet"
    return written_once(target, lambda path: write_corpus(path, make_recipe(documents, 0.0, seed=SEED + 1)))


def _put_before(table: pa.Table, headers: str | pa.Array, path: Path) -> None:
    texts = pc.binary_join_element_wise(headers, table["text"].combine_chunks(), ".\n\n")
    pq.write_table(table.set_column(table.schema.get_field_index("text"), "text", texts), path)


def questions(setting: Setting, corpus: Path, count: int, words: int) -> Path:
    """Texts of some words: every second one stands in the corpus, the others do not. Their ids say which."""

    def write(path: Path) -> None:
        step = max(1, pq.read_metadata(corpus).num_rows * 2 // count)
        known = pq.read_table(corpus)["text"].to_pylist()[::step]
        unknown = pq.read_table(generated(setting, count, copies=0))["text"].to_pylist()
        rows = []
        for number in range(count):
            source = known[number // 2] if number % 2 == 0 else unknown[number]
            tokens = source.split()
            start = max(0, len(tokens) - words) // 2
            rows.append((f"{'known' if number % 2 == 0 else 'new'}-{number}", " ".join(tokens[start : start + words])))
        columns = {name: [row[at] for row in rows] for at, name in enumerate(("id", "text"))}
        pq.write_table(pa.table(columns), path)

    return written_once(setting.work / f"questions-{count}-of-{corpus.stem}.parquet", write)


def text_files(corpus: Path) -> Path:
    """The texts of a corpus as files of a folder, named by row."""
    folder = corpus.with_name(f"{corpus.stem}-files")

    def write(partial: Path) -> None:
        partial.mkdir(exist_ok=True)
        for row, text in enumerate(pq.read_table(corpus, columns=["text"])["text"].to_pylist()):
            (partial / f"{row:06}.txt").write_text(text, "utf-8")

    return written_once(folder, write)


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
