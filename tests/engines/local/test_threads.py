"""Work spread over threads: results in order, few taken ahead, errors where they belong."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from twinset.engines.local.threads import Threads


@pytest.mark.parametrize("count", [1, 2, 7])
def test_results_are_in_order(count: int) -> None:
    pool = Threads(count)
    assert list(pool.map(lambda number: number * number, range(100))) == [number * number for number in range(100)]
    assert list(pool.map(str, [])) == []
    assert pool.start(lambda: 5).result() == 5
    pool.close()


def test_few_items_are_taken_ahead() -> None:
    taken = []

    def work() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    pool = Threads(3)
    for at, number in enumerate(pool.map(lambda number: number, work())):
        assert at == number
        assert len(taken) <= at + 1 + 3 + 2
    pool.close()


def test_an_error_stops_the_work() -> None:
    done: list[int] = []
    gate = threading.Event()

    def work(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        if number > 3:
            gate.wait(300)
        done.append(number)
        return number

    pool = Threads(1)
    found: list[int] = []
    results = pool.map(work, range(1000))
    with pytest.raises(ValueError, match="three"):
        found.extend(results)
    gate.set()
    pool.close()
    assert found == [0, 1, 2]
    assert len(done) < 10
