"""What the steps of a run are told: reading, shingling, planning, running, auditing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.checks import parse_shingle
from twinset.options.items import ItemOptions
from twinset.system.memory import LEAST_MEMORY, default_memory, default_threads

DEFAULT_SEED = 1
MOST_HASHES = 65536

# Said by more than one group below.
ENCODING = ("Encoding of text files, JSON lines and CSV.", checks.encoding_name, "NAME")
SKETCH = (
    "Sketch. fss: fast similarity sketching; kperm: the textbook's k permutations.",
    checks.choice("fss", "kperm"),
)
CLUSTER = (
    "leader: each removed document is near the kept one; components: chains of near documents; "
    "complete: all members are near each other.",
    checks.choice("leader", "components", "complete"),
)
FORCE = ("Replace an output that exists.", checks.switch)
SEED = ("Seed of all hashing.", checks.whole(0, 2**64 - 1), "N")


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
    encoding: str = option("utf-8", *ENCODING)
    on_error: str = option(
        "replace",
        "What cannot be read. replace: bytes that do not decode become U+FFFD and are counted, malformed "
        "rows stop the run; stop: both stop it; skip: malformed rows, and files that may not be read, are counted, "
        "named and left out.",
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
    sketch: str = option("fss", *SKETCH)
    seed: int = option(DEFAULT_SEED, *SEED)

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
