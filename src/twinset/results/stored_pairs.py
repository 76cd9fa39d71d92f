"""Read a result folder of `pairs`: its pairs, its documents by number, and their texts from the sources."""

from __future__ import annotations

from typing import ClassVar

from twinset.errors import TwinsetError
from twinset.options import PairsOptions
from twinset.plan.from_summary import AnyPlan, plan_from_summary
from twinset.results.stored import SUMMARY, StoredResult
from twinset.schema import HASH_SCHEME


class StoredPairsResult(StoredResult):
    """The result folder of an earlier search for pairs."""

    command: ClassVar[str] = "pairs"

    def _read_options(self) -> tuple[PairsOptions, AnyPlan]:  # type: ignore[override]
        try:
            if self.summary["hash_scheme"] != HASH_SCHEME:
                raise KeyError("hash_scheme")
            options = PairsOptions.of(**self._given_options())
            return options, plan_from_summary(options, self.summary["plan"])
        except (TwinsetError, KeyError, TypeError) as error:
            raise self._damaged(SUMMARY, f"it is of another version of Twinset, or damaged ({error})") from error
