"""Verdicts on the documents of a result, and the scored pairs from which a sample to label is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.engines.local.copies import Copies
from twinset.errors import OptionError
from twinset.options.checks import shown_value
from twinset.options.place import verdicts_beside
from twinset.results.stored import StoredResult
from twinset.system.memory import temporary_folder
from twinset.verdicts.events import Content
from twinset.wording import quoted

if TYPE_CHECKING:
    from twinset.verdicts.sample import Population, Sample
    from twinset.verdicts.store import VerdictStore

_IN_MEMORY = 256 * 2**20


class PairsToSample:
    """The pairs of distinct contents of a result, down to its floor."""

    def __init__(self, recorded: StoredResult) -> None:
        from twinset.results.stored_corpus import StoredPairs  # only where needed, as a database below
        from twinset.verdicts.sample import Population

        self._ids = recorded.ids
        documents, options = recorded.documents, recorded.options
        copies = Copies.of(np.asarray(documents["content"]), np.asarray(documents["status"]))
        with temporary_folder(None) as folder:
            scored = StoredPairs(recorded, copies, Path(folder), _IN_MEMORY)
            rows, scores = scored.rows.all()[:, :2], scored.similarities.all()
        distinct = (copies.first[rows] == rows).all(axis=1)  # with --against, copies are pairs of their own
        self._rows = rows[distinct]
        digests = recorded.digests
        self.population: Population = Population(
            digests[self._rows[:, 0]], digests[self._rows[:, 1]], scores[distinct], options.measure,
            float(options.lowest), str(recorded.summary.get("check", "")), recorded.basis,
        )  # fmt: skip

    def names(self, rows: npt.NDArray[np.int64]) -> Sequence[tuple[str, str]]:
        """Return the ids of some pairs."""
        lefts, rights = (self._ids.take(pa.array(self._rows[rows, side])).to_pylist() for side in (0, 1))
        return list(zip(lefts, rights, strict=True))


class JudgedResult(ABC):
    """A result with documents that people judge."""

    @property
    @abstractmethod
    def recorded(self) -> StoredResult:
        """The records of the run: documents by number, with the digests of their contents."""

    def content(self, id: str | int) -> Content:
        """Return the content of a document, by which a verdict names it: its digest, and the id.

        Examples
        --------
        >>> import twinset
        >>> done = twinset.dedup({"a": "a rose is a rose is a rose", "b": "A rose is a rose, is a rose!"})
        >>> done.content("a").digest == done.content("b").digest
        True
        """
        name, recorded = id_of("id", id), self.recorded
        number = recorded.find(name)
        if number >= len(recorded.ids):
            raise OptionError(f"{quoted(name)} is a document of the index: this result has no digest of its content")
        return Content(recorded.digests[number].tobytes(), name)

    def open_verdicts(self, file: Any = None) -> VerdictStore:
        """Open the file of verdicts beside the result, or another file, to store verdicts on its documents.

        Parameters
        ----------
        file
            By default the file beside the folder of the result, which is made if it does not exist.

        Returns
        -------
        VerdictStore
            With `.judge`, `.undo`, `.states`, `.conflicts`, …; a context manager.

        Examples
        --------
        >>> import twinset
        >>> rose = "a rose is a rose is a rose in any garden of the town"
        >>> done = twinset.dedup({"a": rose, "b": rose + " hall"}, shingle="word:3")
        >>> with done.open_verdicts("judged.verdicts") as store:
        ...     number = store.judge("different", done.content("a"), done.content("b"), who="Ann")
        >>> done.summary["kept"], done.recut(verdicts="judged.verdicts").summary["kept"]
        (1, 2)
        """
        from twinset.verdicts.store import VerdictStore  # loads a database: only where needed

        return VerdictStore(self._verdicts_file(file), basis=self.recorded.basis)

    def _verdicts_file(self, file: Any) -> Any:
        if file is None and not self.recorded.folder.name:
            raise OptionError("this result has no folder, so no file is beside it; name one with verdicts=FILE")
        return verdicts_beside(self.recorded.folder) if file is None else file

    def sample(self, **options: Any) -> Sample:
        """Draw a random sample of the pairs to label, stratified by similarity, and store it with the verdicts.

        The pairs are those of distinct contents, down to the floor of the result. The same pairs are drawn from the
        same contents and seed in any order, and a sample that was drawn before is returned as it is stored.

        Parameters
        ----------
        **options
            The options of `twinset verdicts sample`, as keyword arguments: `pairs`, `strata`, `seed`, `verdicts`,
            `name`. A result in memory needs `verdicts`, the file to store the sample in.

        Returns
        -------
        Sample
            With `.pairs`, in the order in which they are to be labelled, and `.strata`.

        Examples
        --------
        >>> import twinset
        >>> rose = "a rose is a rose is a rose in any garden of the town"
        >>> done = twinset.dedup([rose, rose + " hall", rose + " wall"], shingle="word:3")
        >>> drawn = done.sample(pairs=2, verdicts="roses.verdicts")
        >>> [(one.left.id, one.right.id) for one in drawn.pairs], drawn.population
        ([('0', '2'), ('1', '2')], 3)
        """
        from twinset.options.results import SampleVerdictsOptions, user_name
        from twinset.verdicts.sample import draw_sample
        from twinset.verdicts.store import VerdictStore

        checked = SampleVerdictsOptions.of(**options)
        file, drawn = self._verdicts_file(checked.verdicts), PairsToSample(self.recorded)
        with VerdictStore(file, basis=self.recorded.basis) as store:
            chosen = {"pairs": checked.pairs, "strata": checked.strata, "seed": checked.seed}
            who = checked.name or user_name()
            return draw_sample(store, drawn.population, drawn.names, who=who, **chosen)


def id_of(name: str, id: object) -> str:
    """Return an id as a string; a whole number stands for its digits."""
    if isinstance(id, (int, np.integer)) and not isinstance(id, bool):
        return str(id)
    if isinstance(id, str):
        return id.encode("utf-8", "backslashreplace").decode()  # as the id of a file whose name is not UTF-8
    raise OptionError(f"{name} is {shown_value(id)}, of type {type(id).__name__}; allowed: a string or a whole number")
