"""What processes of the nursery do for the tests of servers: serve indexes, until they are killed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twinset.options.web import ServeOptions
from twinset.web.api.run import serve_indexes

Say = Callable[[Any], object]


def warm_up() -> None:
    """Load the kernels once, so that every process has them."""
    import tempfile

    import twinset
    from twinset.index.served import ServedIndex

    with tempfile.TemporaryDirectory() as folder:
        where = f"{folder}/warm.twinset"
        twinset.Index.create(where, shingle="word:2", seed=1, passages=4, contained=True).close()
        with ServedIndex.open(where) as index:
            index.change([index.prepare(["a", "b"], ["one two three four five", "six seven eight nine ten"])])
            index.answer(["one two three four five six"], {})
            index.answer(["one two three four five six"], {"k": 2})
            index.answer(["one two three four five six"], {"contained": 0.5})
            index.answer_passages("one two three four five six", None, {})
    twinset.compare("one two three", "one two four")
    twinset.collapse(["one two three", "one two four"])
    twinset.explain("one two three", "one two four")


def serve(say: Say, indexes: list[str], options: dict[str, Any]) -> None:
    """Serve indexes, and say the URL."""
    serve_indexes(indexes, ServeOptions.of(**options), announce=say)
