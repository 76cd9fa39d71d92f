"""What an index was made with, as it is written down in the index itself."""

from __future__ import annotations

import dataclasses
import secrets
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from twinset.errors import DamagedError, OptionError, PlanWarning, StateError
from twinset.options.index import IndexOptions
from twinset.plan import LEAST_LOSS, Plan, plan
from twinset.schema import HASH_SCHEME

FORMAT, UNFINISHED = 2, 0
"""Version of the tables.

0: an import into it has not come to its end. 1: the number of a document's shingles stood in `documents`. 2: it stands
in `sketches`, where look-ups need it.
"""


@dataclass(frozen=True)
class Settings:
    """The options of an index, its plan and its seed."""

    options: IndexOptions
    plan: Plan
    format: int = FORMAT

    @classmethod
    def chosen(cls, options: IndexOptions) -> Settings:
        """Settings for a new index; a seed that was not given is drawn."""
        seed = secrets.randbits(63) if options.seed is None else options.seed
        made = plan(options.threshold, options.recall, options.n_hashes, options.n_bands, options.rows_per_band)
        return cls(dataclasses.replace(options, seed=seed), made)

    @property
    def seed(self) -> int:
        """The seed of all hashing."""
        return int(self.options.seed or 0)

    @property
    def loss(self) -> float:
        """The share of documents at the threshold that the comparison of sketches may lose."""
        return min(LEAST_LOSS, (1 - self.plan.recall) / 10)

    def to_rows(self) -> dict[str, str]:
        """As rows of the table `settings`."""
        options = self.options.to_dict()
        sizes = {name: getattr(self.plan, name) for name in ("n_hashes", "n_bands", "rows_per_band")}
        values = {"format": self.format, "hash_scheme": HASH_SCHEME, "options": {**options, **sizes}}
        return {name: orjson.dumps(value).decode() for name, value in values.items()}

    @classmethod
    def from_rows(cls, rows: Mapping[str, str], where: str) -> Settings:
        """Settings as an index has them; what cannot be used is refused with the reason."""
        try:
            format, scheme = int(orjson.loads(rows["format"])), int(orjson.loads(rows["hash_scheme"]))
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"{where}: the settings of the index are damaged ({error!r})") from error
        if format > FORMAT:
            raise StateError(
                f"{where}: the index has format {format}, and this version of twinset knows formats up to {FORMAT}; "
                "use a newer version"
            )
        if format == UNFINISHED:
            raise StateError(
                f"{where}: an import into the index has not come to its end, and what it holds is not whole; run the "
                "same twinset index import again, which goes on from there"
            )
        if scheme != HASH_SCHEME:
            raise StateError(
                f"{where}: the index was made with hash scheme {scheme}, and this version of twinset has scheme "
                f"{HASH_SCHEME}: the same text has other values; export it with the version that made it, and "
                "add the texts to a new index"
            )
        try:
            options = IndexOptions.of(**orjson.loads(rows["options"]))
            sizes = options.n_hashes, options.n_bands, options.rows_per_band
            if options.seed is None or None in sizes or format < 1:
                raise OptionError(f"format {format}, seed or plan missing")
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"{where}: the settings of the index are damaged ({error})") from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)  # whoever made the index was warned
            return cls(options, plan(options.threshold, options.recall, *sizes), format)

    def refuse_others(self, words: Mapping[str, Any], where: str) -> None:
        """Raise `OptionError` where options are asked for that the index was not made with."""
        asked = IndexOptions.of(**words)
        for name in words:
            ours, theirs = getattr(self.options, name), getattr(asked, name)
            if ours != theirs and theirs is not None:
                shown = "another one" if name == "seed" else repr(ours)
                raise OptionError(
                    f"{where}: {name} is {theirs!r}, but the index was made with {shown}, and that cannot be changed; "
                    "leave it out, or create another index"
                )
