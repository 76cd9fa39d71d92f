"""Sets made as texts go by are those made by reading them for their own sake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engines.local.corpora import PLENTY, stages, texts
from twinset.engines.local.audit import sample
from twinset.engines.local.audit.result import AuditResult
from twinset.engines.local.audit.sets import LoadedSets, SetAudit, SetLoader
from twinset.engines.local.budget import Budget
from twinset.engines.local.steps.verify import SetVerifier
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Silent
from twinset.options import DedupOptions
from twinset.system.scratch import Spool

SMALL = Budget(10**12, 60_000)  # too little for the texts
WORDS: dict[str, Any] = {"recall": 0.4, "threshold": 0.7, "by": "group"}


def written(path: Path, count: int) -> str:
    rows = [{"text": text, "group": number % 3} for number, text in enumerate(texts(count, seed=4))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def contents(loaded: LoadedSets) -> list[tuple[int, list[int], int]]:
    sets = loaded.sets
    ends = sets.starts[:-1] + sets.sizes
    return [
        (int(number), sorted(sets.hashes[start:end].tolist()), int(group))
        for number, start, end, group in zip(loaded.numbers, sets.starts, ends, loaded.groups, strict=False)
    ]


@pytest.mark.parametrize("share", [1, 2, 30])
def test_what_went_by_is_not_read_again(tmp_path: Path, share: int) -> None:
    source = written(tmp_path / "a.jsonl", 300)
    corpus = stages(tmp_path / "run", [source], SMALL, **WORDS).corpus
    assert not corpus.cached_blocks
    options, pool = DedupOptions.of(**WORDS), Threads(2)
    numbers = np.random.default_rng(1).permutation(300)[: 300 // share].astype(np.uint32)
    numbers = numbers[corpus.counts[numbers] > 0]
    expected = contents(SetLoader(corpus, options, numbers).finish(pool))

    ahead = SetLoader(corpus, options, numbers)
    corpus.noticed = ahead.fill
    some = np.arange(300) < 150  # half of the blocks go by, some of them twice
    for wanted in (some, some & (np.arange(300) < 50)):
        assert [*corpus.read(pool, lambda span, block: None, wanted=wanted)]
    corpus.noticed = None
    assert contents(ahead.finish(pool)) == expected

    ahead = SetLoader(corpus, options, numbers)
    corpus.noticed = ahead.fill
    assert [*corpus.read(pool, lambda span, block: None)]
    Path(source).unlink()  # all is there: nothing is read any more
    assert contents(ahead.finish(pool)) == expected
    pool.close()


def audited(
    folder: Path, source: str, budget: Budget, own: Budget, ahead: bool, asked: int | None, **words: Any
) -> AuditResult:
    """With a budget for the run and one for the audit."""
    found = stages(folder, [source], budget, **words)
    options, pool = DedupOptions.of(**words), Threads(2)
    scratch = folder / "audit"
    scratch.mkdir()
    auditing = SetAudit(found.corpus, found.copies, options, own, scratch, pool, Silent())
    if ahead:
        auditing.look_ahead(asked)
        assert (found.corpus.noticed is None) == bool(found.corpus.cached_blocks)
        again = Spool(scratch / "again", "<u4", 3)
        SetVerifier(found.corpus, options, budget, scratch, pool, Silent()).verify(found.candidates, 0.7, again)
    result = auditing.audit(asked, found.pairs, found.sizes, len(found.candidates))
    assert found.corpus.noticed is None
    pool.close()
    return result


@pytest.mark.parametrize("asked", [40, None])
@pytest.mark.parametrize("budget", [PLENTY, SMALL], ids=["held", "read again"])
def test_an_audit_that_looked_ahead_is_the_same(tmp_path: Path, asked: int | None, budget: Budget) -> None:
    source = written(tmp_path / "a.jsonl", 400)
    one, two = (
        audited(tmp_path / str(ahead), source, budget, PLENTY, ahead, asked, **WORDS) for ahead in (False, True)
    )
    alike(one, two)


def test_of_a_sample_too_large_those_tried_first_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for a hundred documents, a sample of all: fifty are tried with fifty more."""
    monkeypatch.setattr(sample, "PILOT", 50)
    source = written(tmp_path / "a.jsonl", 400)
    own = Budget(10**12, 2 * 10**6)
    one, two = (audited(tmp_path / str(ahead), source, SMALL, own, ahead, None, **WORDS) for ahead in (False, True))
    alike(one, two)


def alike(one: AuditResult, two: AuditResult) -> None:
    assert one.pairs
    assert one.sample.tolist() == two.sample.tolist()
    assert one.pairs_of.tolist() == two.pairs_of.tolist()
    assert (one.pairs, one.missed) == (two.pairs, two.missed)
    rows = [[row for part in result.missed_rows() for row in part.tolist()] for result in (one, two)]
    assert rows[0] == rows[1]
