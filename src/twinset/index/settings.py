"""What an index was made with, as it is written down in the index itself."""

from __future__ import annotations

import dataclasses
import secrets
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from twinset.errors import DamagedError, OptionError, PlanWarning, StateError
from twinset.options.index import IndexOptions
from twinset.plan import LEAST_LOSS, Plan, plan
from twinset.plan.codes import GivenCodes
from twinset.plan.from_summary import AnyPlan
from twinset.schema import HASH_SCHEME

FORMAT, UNFINISHED, MEASURED = 2, 0, 3
"""Version of the tables.

0: an import into it has not come to its end. 1: the number of a document's shingles stood in `documents`. 2: it stands
in `sketches`, where look-ups need it. 3: the same tables, but the documents are codes, vectors or pictures, of which
whoever knows formats up to 2 knows nothing.
"""


@dataclass(frozen=True)
class Settings:
    """The options of an index, its plan and its seed.

    Codes and vectors are planned for when the first of them are there, unless all was said before.
    """

    options: IndexOptions
    plan: AnyPlan | None
    format: int = FORMAT
    learned: str | None = None
    """What was learned of a sample of vectors, as JSON."""

    @classmethod
    def create(cls, options: IndexOptions) -> Settings:
        """Settings for a new index; a seed that was not given is drawn."""
        seed = secrets.randbits(63) if options.seed is None else options.seed
        options = dataclasses.replace(options, seed=seed)
        if options.measure != "jaccard":
            return cls(options, None, MEASURED)
        sizes = options.n_hashes, options.n_bands, options.rows_per_band
        return cls(options, plan(options.threshold, options.recall, *sizes))

    @property
    def bands(self) -> Plan:
        """The plan of an index of texts or sets."""
        if not isinstance(self.plan, Plan):
            raise OptionError(f"this needs an index of texts or sets, and this one is of {self.options.item_kind}")
        return self.plan

    @property
    def in_newest_format(self) -> Settings:
        """The same in the newest format."""
        return dataclasses.replace(self, format=FORMAT if isinstance(self.plan, Plan) else MEASURED)

    @property
    def seed(self) -> int:
        """The seed of all hashing."""
        return int(self.options.seed or 0)

    @property
    def loss(self) -> float:
        """The share of documents at the threshold that the comparison of sketches may lose."""
        return min(LEAST_LOSS, (1 - self.options.recall) / 10)

    def to_rows(self) -> dict[str, str]:
        """As rows of the table `settings`."""
        options = self.options.to_dict()
        values: dict[str, Any] = {"format": self.format, "hash_scheme": HASH_SCHEME, "options": options}
        if isinstance(self.plan, Plan):
            options |= {name: getattr(self.plan, name) for name in ("n_hashes", "n_bands", "rows_per_band")}
        elif self.plan is not None:
            values["plan"] = asdict(self.plan)
        learned = {} if self.learned is None else {"learned": self.learned}
        return {name: orjson.dumps(value).decode() for name, value in values.items()} | learned

    @classmethod
    def from_rows(cls, rows: Mapping[str, str], where: str) -> Settings:
        """Settings as an index has them; what cannot be used is refused with the reason."""
        try:
            format, scheme = int(orjson.loads(rows["format"])), int(orjson.loads(rows["hash_scheme"]))
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"{where}: the settings of the index are damaged ({error!r})") from error
        if format > MEASURED:
            raise StateError(
                f"{where}: the index has format {format}, and this version of twinset knows formats up to {MEASURED}; "
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
            of_sets = options.measure == "jaccard"
            if options.seed is None or (None in sizes and of_sets) or format < 1 or of_sets != (format < MEASURED):
                raise OptionError(f"format {format}, seed or plan missing")
            if not of_sets:
                told = _told(options, orjson.loads(rows["plan"])) if "plan" in rows else None
                return cls(options, told, format, rows["learned"] if options.learned is not None else None)
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"{where}: the settings of the index are damaged ({error})") from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)  # whoever made the index was warned
            return cls(options, plan(options.threshold, options.recall, *sizes), format)

    def check_options(self, words: Mapping[str, Any], where: str) -> None:
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


def _told(options: IndexOptions, values: dict[str, Any]) -> AnyPlan:
    """The plan of codes or vectors as it is written down; a `ValueError` says that it is none."""
    kind: Any = GivenCodes
    if options.item_kind == "vectors":
        from twinset.plan.vectors import VectorPlan  # with it come kernels, for which others need not wait

        kind = VectorPlan
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    made: AnyPlan = kind(**values)
    for one in dataclasses.fields(kind):
        wanted = {"int": (int,), "float": (int, float), "str": (str,)}.get(str(one.type), (tuple,))
        if type(getattr(made, one.name)) not in wanted:
            raise ValueError(f"the plan has a {one.name} that is none")
    known: dict[str, Any] = {"bits": 64 if options.images else options.bits, "distance": options.reach}
    if kind is not GivenCodes:
        known = {"dimensions": options.dimensions, "measure": options.measure}
    if any(values[name] != value for name, value in known.items()) or not _possible(values):
        raise ValueError("the plan is not one of these options")
    return made


def _possible(values: dict[str, Any]) -> bool:
    """Whether a plan has no more of anything than plans have: what is written down may have been changed."""
    tables = values["tables"]
    if "method" not in values:
        return bool(1 <= tables <= min(64, values["bits"]))
    from twinset.plan.vectors import METHODS, MOST_FUNCTIONS, MOST_PROBES

    method, width = values["method"], values["width"]
    if method == "exact" or method not in METHODS[values["measure"]]:
        return bool(method == "exact" and tables == 0)
    wide = width in (8, 16, 32, 64, 128) if method == "cross-polytope" else 0 <= width < 1e300
    few = 1 <= values["functions"] <= MOST_FUNCTIONS[method] and 0 <= values["probes"] <= MOST_PROBES
    return bool(1 <= tables <= 1024 and few and wide and (method != "p-stable" or width > 0))
