"""Every option, once: its name, default, bounds, choices and help.

The keyword words of the Python functions, the flags of the command line and `docs/commands.md` are all
derived from the dataclasses below. They only hold and check values; nothing heavy is imported here.

    ItemOptions
         │
    ReadOptions  ShingleOptions  PlanOptions  RunOptions  AuditOptions
          └───────────┴────┬─────────┴───────────┴────────────┘
              PairsOptions · DedupOptions          CompareOptions (shingles and a sketch)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from . import checks
from .checks import parse_keep, parse_shingle
from .errors import OptionError
from .item_options import ItemOptions
from .machine import LEAST_MEMORY, default_memory, default_threads
from .option_groups import Options, option

__all__ = [
    "ArrivalOptions",
    "AuditOptions",
    "CompareOptions",
    "DedupOptions",
    "ItemOptions",
    "Options",
    "PairsOptions",
    "PlanOptions",
    "ReadOptions",
    "RunOptions",
    "ShingleOptions",
    "option",
]

DEFAULT_SEED = 1
MOST_HASHES = 65536

# Said by more than one group below.
_ENCODING = ("Encoding of text files, JSON lines and CSV.", checks.encoding_name, "NAME")
_SKETCH = (
    "Sketch. fss: fast similarity sketching; kperm: the textbook's k permutations.",
    checks.choice("fss", "kperm"),
)
CLUSTER = (
    "leader: each removed document is near the kept one; components: chains of near documents; "
    "complete: all members are near each other.",
    checks.choice("leader", "components", "complete"),
)
FORCE = ("Replace an output that exists.", checks.switch)
_SEED = ("Seed of all hashing.", checks.whole(0, 2**64 - 1), "N")


@dataclass(frozen=True, kw_only=True)
class ReadOptions(ItemOptions):
    """How sources are read."""

    title: ClassVar[str] = "Reading"

    id: str | None = option(
        None,
        "Column that holds the id.",
        checks.column(none=True),
        "COLUMN",
        default_words="the column id if there is one, else file:row",
    )
    lines: bool = option(False, "Text files hold one document a line.", checks.switch)
    include: tuple[str, ...] = option(
        (), "In folders, read only the files of this pattern.", checks.items(str), "PATTERN"
    )
    exclude: tuple[str, ...] = option(
        (), "In folders, leave out the files of this pattern.", checks.items(str), "PATTERN"
    )
    encoding: str = option("utf-8", *_ENCODING)
    on_error: str = option(
        "replace",
        "What cannot be read. replace: bytes that do not decode become U+FFFD and are counted, malformed "
        "rows stop the run; stop: both stop it; skip: malformed rows are counted, named and left out.",
        checks.choice("replace", "stop", "skip"),
    )
    by: str | None = option(
        None, "Compare only rows that agree in this column.", checks.column(none=True), "COLUMN"
    )
    against: tuple[object, ...] = option(
        (), "Compare the sources with this one only, never with each other.", checks.items(object), "SOURCE"
    )


@dataclass(frozen=True, kw_only=True)
class ShingleOptions(Options):
    """What two documents can have in common."""

    title: ClassVar[str] = "Shingles"

    shingle: str = option(
        "word:5", "What is compared: runs of K words or of K characters.", checks.shingle_spec, "KIND:K"
    )
    bag: bool = option(False, "Count repeated shingles: a bag, not a set.", checks.switch)
    lowercase: bool = option(
        True, "Bring text to lower case.", checks.switch, off_help="Tell upper from lower case."
    )
    nfc: bool = option(
        True, "Bring text to form NFC.", checks.switch, off_help="Do not bring text to Unicode's form NFC."
    )
    squeeze: bool = option(
        True,
        "Make each run of white space one space and strip the ends (char shingles).",
        checks.switch,
        off_help="Keep white space as it is (char shingles).",
    )
    split: bool = option(
        True,
        "Take each character of a script written without spaces, and each emoji, as a word (word shingles).",
        checks.switch,
        off_help="Do not take each character of a script written without spaces as a word (word shingles).",
    )

    @cached_property
    def kind(self) -> str:
        """The kind of token: ``"word"`` or ``"char"``."""
        return parse_shingle(self.shingle)[0]

    @cached_property
    def size(self) -> int:
        """The number of tokens in a shingle."""
        return parse_shingle(self.shingle)[1]


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Options):
    """What counts as near, and how surely it is found."""

    title: ClassVar[str] = "Plan"

    threshold: float = option(
        0.8,
        "Least exact similarity of a reported pair, inclusive: Jaccard of texts and sets, cosine of vectors.",
        checks.number(above=0.0, most=1.0),
        "T",
    )
    recall: float = option(
        0.99,
        "Least probability that a pair exactly at the threshold is found.",
        checks.number(above=0.0, below=1.0),
        "P",
    )
    n_hashes: int | None = option(
        None,
        "Hashes in a sketch.",
        checks.whole(1, MOST_HASHES, none=True),
        "K",
        flags=("--hashes", "--n-hashes"),
        default_words="chosen by the plan",
    )
    n_bands: int | None = option(
        None,
        "Bands; more are looser.",
        checks.whole(1, MOST_HASHES, none=True),
        "B",
        flags=("--bands", "--n-bands"),
        default_words="chosen by the plan",
    )
    rows_per_band: int | None = option(
        None,
        "Rows in a band; more are stricter.",
        checks.whole(1, MOST_HASHES, none=True),
        "R",
        flags=("--rows", "--rows-per-band"),
        default_words="chosen by the plan",
    )
    sketch: str = option("fss", *_SKETCH)
    seed: int = option(DEFAULT_SEED, *_SEED)

    @property
    def least(self) -> float:
        """The least similarity down to which pairs are found and scored: what the plan is made for."""
        return self.threshold

    def _check_together(self) -> None:
        super()._check_together()
        bands, rows, most = self.n_bands or 1, self.rows_per_band or 1, self.n_hashes or MOST_HASHES
        if bands * rows > most:
            raise OptionError(
                f"n_bands × rows_per_band is {bands} × {rows} = {bands * rows}, more than "
                f"{'the n_hashes asked for' if self.n_hashes else 'the most hashes there can be'}, {most}; "
                "ask for more hashes, or for fewer bands or rows"
            )


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """How the work is done; none of these changes a result."""

    title: ClassVar[str] = "Work"

    threads: int | None = option(
        None,
        "Threads to work with.",
        checks.whole(1, 4096, none=True),
        "N",
        default_words="all cores",
        result=False,
    )
    memory: int | None = option(
        None,
        "Memory to stay within, such as 2GB or 512MiB; what does not fit goes to --scratch.",
        checks.size(LEAST_MEMORY, 2**60, none=True),
        "SIZE",
        default_words="half of what is free",
        result=False,
    )
    scratch: str | None = option(
        None,
        "Folder for files that are needed during the run only.",
        checks.path,
        "FOLDER",
        default_words="beside the output, else the system's temporary folder",
        result=False,
    )
    batch_bytes: int = option(
        16 * 2**20,
        "Text that a thread takes up at a time, such as 16MiB.",
        checks.size(1024, 2**30),
        "SIZE",
        flags=("--batch",),
        result=False,
    )

    @property
    def thread_count(self) -> int:
        """The threads asked for, else as many as this process may use."""
        return self.threads or default_threads()

    @property
    def memory_bytes(self) -> int:
        """The memory asked for, else half of what is free at this moment."""
        return self.memory or default_memory()


@dataclass(frozen=True, kw_only=True)
class AuditOptions(Options):
    """How sure the result shall be known to be."""

    title: ClassVar[str] = "Audit"

    audit: int | None = option(
        None,
        "Compare so many documents, drawn at random, exactly with all others, and report which share of their pairs "
        "the run has found; 0 for no audit.",
        checks.whole(0, 2**32 - 1, none=True),
        "N",
        default_words="as many as a small part of the run affords, all of a small corpus",
        result=False,
    )


@dataclass(frozen=True, kw_only=True)
class PairsOptions(AuditOptions, RunOptions, PlanOptions, ShingleOptions, ReadOptions):
    """The options of `twinset.find_pairs` and ``twinset pairs``."""

    title: ClassVar[str] = "Pairs"

    exact: bool = option(
        False,
        "Miss nothing: join the shingle sets exactly, without sketches. Slower where much is shared.",
        checks.switch,
    )
    identical: str = option(
        "all",
        "Pairs of identical documents. all: every one; link: each copy with its first appearance only.",
        checks.choice("all", "link"),
    )
    top: int | None = option(
        None,
        "Of each item its N most similar only, each item as left in turn.",
        checks.whole(1, 10_000, none=True),
        "N",
        default_words="every pair, once",
    )
    force: bool = option(False, *FORCE, result=False)

    def _check_together(self) -> None:
        super()._check_together()
        defaults = self.defaults()
        for name in ("recall", "n_hashes", "n_bands", "rows_per_band", "sketch") if self.exact else ():
            if getattr(self, name) != defaults[name]:
                raise OptionError(
                    f"{name} is {getattr(self, name)}, which has no meaning with exact: the sets themselves are "
                    "compared, and every pair is found; leave one of the two out"
                )


@dataclass(frozen=True, kw_only=True)
class ArrivalOptions(Options):
    """What else new documents are compared with."""

    title: ClassVar[str] = "Index"

    index: object = option(
        None,
        "Compare with the documents of this index too, and add what is kept to it; shingles, sketches and plan are "
        "those of the index.",
        checks.index_place,
        "PATH|URL",
    )
    timeout: int = option(
        30,
        "With --index: seconds to wait for another writer before giving up.",
        checks.whole(0, 86_400),
        "SECONDS",
        result=False,
    )


@dataclass(frozen=True, kw_only=True)
class DedupOptions(ArrivalOptions, AuditOptions, RunOptions, PlanOptions, ShingleOptions, ReadOptions):
    """The options of `twinset.dedup` and ``twinset dedup``."""

    title: ClassVar[str] = "Clusters"

    floor: float | None = option(
        None,
        "Find and keep scored pairs down to this similarity, so that recut can choose another threshold; clusters "
        "are made of those from --threshold on.",
        checks.optional(checks.number(above=0.0, most=1.0)),
        "T",
        default_words="the threshold",
    )
    keep: str = option("first", "Which document of a cluster is kept.", checks.keep_chain, "RULES")
    cluster: str = option(
        "leader",
        *CLUSTER,
    )
    copy: bool = option(
        False, "Of a folder of files, copy the kept files too, not only list them.", checks.switch
    )
    flag: bool = option(
        False, "Remove nothing; add the columns cluster, duplicate_of and similarity instead.", checks.switch
    )
    force: bool = option(False, *FORCE, result=False)

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Give the options as plain values, ready for JSON; the seed of an index is a secret, and left out."""
        found = super().to_dict(result_only)
        if self.index is not None:
            del found["seed"]
        return found

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("against", "by") if self.index is not None else ():
            if getattr(self, name):
                raise OptionError(
                    f"--{name} has no meaning with --index: arrivals are compared with all documents of the index and "
                    "with each other; leave one of the two out"
                )
        # With an index, the threshold may be the index's own, which is not known here.
        if self.floor is not None and self.floor > self.threshold and self.index is None:
            raise OptionError(
                f"floor is {self.floor:g}, above the threshold, {self.threshold:g}; allowed is a number up to the "
                "threshold: lower the one or raise the other"
            )
        if self.against and (self.keep != "first" or self.cluster != "leader"):
            came = f"--keep {self.keep}" if self.keep != "first" else f"--cluster {self.cluster}"
            raise OptionError(
                f"{came} has no meaning with --against: documents are compared with those of the other source only, "
                "which are always kept; leave one of the two out"
            )

    @property
    def least(self) -> float:
        """The floor, if there is one, else the threshold."""
        return self.threshold if self.floor is None else self.floor

    @property
    def keep_rules(self) -> tuple[tuple[str, str | None], ...]:
        """The keep policy, as rules each with the column it needs."""
        return parse_keep(self.keep)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(ShingleOptions):
    """The options of `twinset.compare` and ``twinset compare``."""

    title: ClassVar[str] = "Sketch"

    encoding: str = option("utf-8", *_ENCODING)
    sketch: str = option("fss", *_SKETCH)
    n_hashes: int = option(
        128, "Hashes in a sketch.", checks.whole(1, MOST_HASHES), "K", flags=("--hashes", "--n-hashes")
    )
    seed: int = option(DEFAULT_SEED, *_SEED)
