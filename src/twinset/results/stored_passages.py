"""Read a result folder of `passages`: its tables, and the texts of its documents from the sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from twinset.errors import TwinsetError
from twinset.options.passages import PassagesOptions
from twinset.results.stored import SUMMARY, StoredResult
from twinset.schema import BOILERPLATE, COPIED, HASH_SCHEME, PASSAGES


class StoredPassages(StoredResult):
    """The result folder of an earlier search for passages."""

    command: ClassVar[str] = "passages"
    options: Any

    def _read_options(self) -> tuple[Any, Any]:
        try:
            if self.summary["hash_scheme"] != HASH_SCHEME:
                raise KeyError("hash_scheme")
            return PassagesOptions.of(**self._given_options()), self.summary["plan"]
        except (TwinsetError, KeyError, TypeError) as error:
            raise self._damaged(SUMMARY, f"it is of another version of Twinset, or damaged ({error})") from error

    def schema(self, name: str) -> pa.Schema:
        """Return the columns of a table."""
        own = {"passages": PASSAGES, "copied": COPIED, "boilerplate": BOILERPLATE}
        return own.get(name) or super().schema(name)

    def passages_of(self, one: str, other: str) -> pa.Table:
        """Return the passages of two documents, `one` on the left."""
        table = self.table("passages")
        forward = table.filter((pc.field("left") == one) & (pc.field("right") == other))
        if one == other:
            return forward
        back = table.filter((pc.field("left") == other) & (pc.field("right") == one))
        turned = [name.replace("left", "?").replace("right", "left").replace("?", "right") for name in PASSAGES.names]
        return pa.concat_tables([forward, back.rename_columns(turned).select(PASSAGES.names)])

    def read_texts(self, documents: Sequence[tuple[str, str]]) -> list[str | None]:
        """Read the texts of documents by role and id."""
        numbers = [
            int(self.numbers_of(pa.array([id]), self.own if role == "against" else 0)[0]) for role, id in documents
        ]
        return self.texts(numbers)
