"""The settings of an index, as the index itself stores them."""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, get_type_hints

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from twinset import unicode
from twinset.errors import DamagedError, NormalizationWarning, OptionError, PlanWarning, StateError
from twinset.options.index import IndexOptions
from twinset.plan import LEAST_LOSS, Plan, plan
from twinset.plan.codes import CodeJoinPlan
from twinset.plan.from_summary import AnyPlan
from twinset.schema import HASH_SCHEME

FORMAT, UNFINISHED, MEASURED, LAYOUTS, COLUMNS = 4, 0, 3, 5, 6
"""Version of the tables.

0: an import is not finished. 1: `documents` has the number of shingles. 2: `sketches` has it, where look-ups need it.
3: the tables of 2 with codes, vectors or pictures, which a program that knows formats up to 2 cannot read.
4: adds `anchors` and `samples`, for all kinds of documents.
5: the tables of 4 with pictures whose sketches also have colour layouts.
6: the tables of 4 with columns that are new in the options: of records, of weighted sets, of long tables, of texts.
"""
NEWEST = COLUMNS
"""The newest format that this version knows."""
_PROBED = ((0x80, 0x4E00), (0xA000, 0xAC00), (0xF900, 0x20000), (0x2F800, 0x2FA20))
"""Code points that NFC or lower-casing may change, now or in a later Unicode: no ideographs, no Hangul syllables."""


@dataclass(frozen=True)
class Normalization:
    """The versions that normalise texts, and digests of what they do.

    NFC and lower-casing are Arrow's. If a later Arrow changes either, a text with one of the changed characters has
    other hashes than the same text in an older index. Digests show whether an upgrade changed them.
    """

    arrow: str
    unicode: str
    nfc: str
    lowercase: str

    @classmethod
    @cache
    def installed(cls) -> Normalization:
        """Normalise every code point of the probe with the Arrow that is installed."""
        points = np.concatenate([np.arange(first, end, dtype="<u4") for first, end in _PROBED])
        # A newline keeps a code point from combining with the previous one.
        lines = np.full((2, len(points), 3), ord("\n"), "<u4")
        lines[:, :, 0] = points
        lines[1, :, 1] = 0x334  # a mark of class 1: it changes places with every mark of a higher class
        probe = pa.array([lines.tobytes().decode("utf-32-le")], pa.large_string())
        composed = [pc.utf8_normalize(text, form="NFC") for text in (probe, pc.utf8_normalize(probe, form="NFD"))]
        return cls(pa.__version__, unicode.version(), _digest(*composed), _digest(pc.utf8_lower(probe)))

    def differences(self, options: IndexOptions) -> list[str]:
        """Name the steps that this index needs and that the Arrow that is installed does differently."""
        if self.arrow == pa.__version__:
            return []
        ours = Normalization.installed()
        wrong = {"NFC": self.nfc != ours.nfc, "lower case": self.lowercase != ours.lowercase}
        used = {"NFC": options.nfc, "lower case": options.lowercase}
        return [step for step in wrong if wrong[step] and used[step]]


def _digest(*texts: pa.Array) -> str:
    return hashlib.blake2b(b"".join(text[0].as_buffer().to_pybytes() for text in texts), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Settings:
    """The options of an index, its plan and its seed.

    An index of codes or vectors has no plan until the first documents are added, unless the options determine it.
    """

    options: IndexOptions
    plan: AnyPlan | None
    format: int = FORMAT
    learned: str | None = None
    """Codes that were learned from a sample of vectors, as JSON."""
    normalization: Normalization | None = None
    """The versions that normalised the texts of the index; None for older indexes."""

    @classmethod
    def create(cls, options: IndexOptions) -> Settings:
        """Make the settings of a new index; draw a seed unless one is given."""
        seed = secrets.randbits(63) if options.seed is None else options.seed
        options = dataclasses.replace(options, seed=seed)
        if options.measure != "jaccard":
            return cls(options, None, LAYOUTS if options.images else FORMAT)
        sizes = options.n_hashes, options.n_bands, options.rows_per_band
        made = plan(options.threshold, options.recall, *sizes)
        format = COLUMNS if _has_columns(options) else FORMAT
        return cls(options, made, format, normalization=Normalization.installed())

    @property
    def bands(self) -> Plan:
        """The plan of an index of texts or sets; other kinds raise `OptionError`."""
        if not isinstance(self.plan, Plan):
            raise OptionError(f"this needs an index of texts or sets; this index holds {self.options.documents_are}")
        return self.plan

    @property
    def in_newest_format(self) -> Settings:
        """The same settings in the newest format."""
        return dataclasses.replace(self, format=max(self.format, FORMAT))

    @property
    def has_layouts(self) -> bool:
        """Whether an index of pictures stores their colour layouts; older ones have hashes only."""
        return self.format == LAYOUTS

    @property
    def ties_by_id(self) -> bool:
        """Whether answers of equal similarity are in the order of the ids, as those of `pairs --top`, not of adding."""
        return self.options.item_kind in ("records", "weighted")

    @property
    def seed(self) -> int:
        """The seed of all hashing."""
        return int(self.options.seed or 0)

    @property
    def loss(self) -> float:
        """The maximum share of documents at the threshold that the comparison of sketches may lose."""
        return min(LEAST_LOSS, (1 - self.options.recall) / 10)

    def to_rows(self) -> dict[str, str]:
        """Return the rows of the table `settings`."""
        options = self.options.to_dict()
        values: dict[str, Any] = {"format": self.format, "hash_scheme": HASH_SCHEME, "options": options}
        if isinstance(self.plan, Plan):
            options |= {name: getattr(self.plan, name) for name in ("n_hashes", "n_bands", "rows_per_band")}
        elif self.plan is not None:
            values["plan"] = asdict(self.plan)
        if self.normalization is not None:
            values["normalization"] = asdict(self.normalization)
        learned = {} if self.learned is None else {"learned": self.learned}
        return {name: orjson.dumps(value).decode() for name, value in values.items()} | learned

    @classmethod
    def from_rows(cls, rows: Mapping[str, str], where: str) -> Settings:
        """Read the settings of an index; raise an error with the reason if this version cannot use them."""
        try:
            format, scheme = int(orjson.loads(rows["format"])), int(orjson.loads(rows["hash_scheme"]))
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"{where}: the settings of the index are damaged ({error!r})") from error
        if format > NEWEST:
            raise StateError(
                f"{where}: the index has format {format}, and this version of twinset knows formats up to {NEWEST}; "
                "use a newer version"
            )
        if format == UNFINISHED:
            raise StateError(
                f"{where}: an import into the index is not finished; run the same twinset index import again, which "
                "resumes it"
            )
        if scheme != HASH_SCHEME:
            raise StateError(
                f"{where}: the index was made with hash scheme {scheme}, and this version of twinset has scheme "
                f"{HASH_SCHEME}, in which the same text has other hashes; export the index with the version that made "
                "it, and add the texts to a new index"
            )
        try:
            options = IndexOptions.of(**orjson.loads(rows["options"]))
            sizes = options.n_hashes, options.n_bands, options.rows_per_band
            of_sets = options.measure == "jaccard"
            if options.seed is None or (None in sizes and of_sets) or not _is_possible(format, options):
                raise OptionError(f"format {format}, seed or plan missing")
            if not of_sets:
                stored = _read_plan(options, orjson.loads(rows["plan"])) if "plan" in rows else None
                return cls(options, stored, format, rows["learned"] if options.learned is not None else None)
            stored_normalization = orjson.loads(rows.get("normalization", "null"))
            normalization = None if stored_normalization is None else Normalization(**stored_normalization)
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"{where}: the settings of the index are damaged ({error})") from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)  # `create` has warned
            made = plan(options.threshold, options.recall, *sizes)
        return cls(options, made, format, normalization=normalization)

    def warn_of_normalization(self, where: str) -> None:
        """Warn if the Arrow that is installed normalises texts differently from the one that made the index."""
        if self.normalization is not None and (steps := self.normalization.differences(self.options)):
            theirs, ours = self.normalization.arrow, pa.__version__
            warnings.warn(
                NormalizationWarning(
                    f"{where}: the index was made with Arrow {theirs}, and Arrow {ours} changes some characters "
                    f"differently ({' and '.join(steps)}); documents with these characters may not be found; use Arrow "
                    f"{theirs}, or add the texts to a new index"
                ),
                stacklevel=3,
            )

    def check_options(self, given: Mapping[str, Any], where: str) -> None:
        """Raise `OptionError` if an option is given that differs from the one that the index was made with."""
        wanted = IndexOptions.of(**given)
        for name in given:
            ours, theirs = getattr(self.options, name), getattr(wanted, name)
            if ours != theirs and theirs is not None:
                shown = "another one" if name == "seed" else repr(ours)
                raise OptionError(
                    f"{where}: {name} is {theirs!r}, but the index was made with {shown}, and it cannot be changed; "
                    "leave it out, or create another index"
                )


def _has_columns(options: IndexOptions) -> bool:
    """Whether the options name columns that older versions do not know."""
    return any(column is not None for column in (options.text, options.group, options.weight))


def _is_possible(format: int, options: IndexOptions) -> bool:
    """Whether an index of a format may have these options."""
    if format > FORMAT or _has_columns(options):
        return format == (COLUMNS if _has_columns(options) else LAYOUTS if options.images else FORMAT)
    return format == FORMAT or (1 <= format <= MEASURED and (options.measure == "jaccard") == (format < MEASURED))


def _read_plan(options: IndexOptions, values: dict[str, Any]) -> AnyPlan:
    """Read the stored plan of codes or vectors; raise `ValueError` if it is not one."""
    kind: Any = CodeJoinPlan
    if options.item_kind == "vectors":
        from twinset.plan.vectors import VectorPlan  # loads kernels, which other kinds do not need

        kind = VectorPlan
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    made: AnyPlan = kind(**values)
    for name, hint in get_type_hints(kind).items():
        wanted = {int: (int,), float: (int, float), str: (str,)}.get(hint, (tuple,))
        if type(getattr(made, name)) not in wanted:
            raise ValueError(f"{name} of the plan has the wrong type")
    known: dict[str, Any] = {"bits": 64 if options.images else options.bits, "distance": options.reach}
    if kind is not CodeJoinPlan:
        known = {"dimensions": options.dimensions, "measure": options.measure}
    if any(values[name] != value for name, value in known.items()) or not _possible(values):
        raise ValueError("the plan does not fit the options")
    return made


def _possible(values: dict[str, Any]) -> bool:
    """Whether the values of a plan are within the bounds of all plans: stored values may have been changed."""
    tables = values["tables"]
    if "method" not in values:
        return bool(1 <= tables <= min(64, values["bits"]))
    from twinset.options.items import MOST_PROBES
    from twinset.plan.vectors import METHODS, MOST_FUNCTIONS

    method, width = values["method"], values["width"]
    if method == "exact" or method not in METHODS[values["measure"]]:
        return bool(method == "exact" and tables == 0)
    wide = width in (8, 16, 32, 64, 128) if method == "cross-polytope" else 0 <= width < 1e300
    few = 1 <= values["functions"] <= MOST_FUNCTIONS[method] and 0 <= values["probes"] <= MOST_PROBES
    return bool(1 <= tables <= 1024 and few and wide and (method != "p-stable" or width > 0))
