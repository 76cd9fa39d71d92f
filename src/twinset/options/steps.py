"""Options of the steps of a run: reading, shingling, planning, running, auditing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.checks import AUTO, parse_shingle
from twinset.options.formats import FORMATS, delimiter_help
from twinset.options.items import ItemOptions
from twinset.system.memory import LEAST_MEMORY, default_memory, default_threads

DEFAULT_SEED = 1
MOST_HASHES = 65536

# Shared by several groups.
ENCODING = ("Encoding of text files, JSON lines and CSV.", checks.encoding_name, "NAME")
SKETCH = (
    "Sketch method. fss: fast similarity sketching; kperm: k permutations, as in textbooks.",
    checks.choice("fss", "kperm"),
)
CLUSTER = (
    "Clustering method. leader: each removed document is near the kept one; components: documents linked by chains of "
    "pairs; complete: all members are near each other.",
    checks.choice("leader", "components", "complete"),
)
FORCE = ("Replace an existing output.", checks.switch)
DETAILS_FORMAT = (
    "Format of the tables of the result. csv: a CSV file is written beside each Parquet file, which explain, recut and "
    "report need.",
    checks.choice("parquet", "csv"),
)
SEED = ("Seed of all hash functions.", checks.whole(0, 2**64 - 1), "N")


@dataclass(frozen=True, kw_only=True)
class ReadOptions(ItemOptions):
    """Options for reading sources."""

    title: ClassVar[str] = "Reading"

    id: str | None = option(
        None,
        "Id column.",
        checks.column(none=True),
        "COLUMN",
        default_text="the column id if it exists, else file:row",
        common=True,
    )
    no_id: bool = option(
        False, "Ignore the column id: rows are named file:row, so ids in the data may repeat.", checks.switch
    )
    format: str | None = option(
        None,
        "Format of the sources, whatever their names say.",
        checks.optional(checks.choice(*FORMATS, "text")),
        default_text="by the ending of the name; JSON lines on stdin",
    )
    delimiter: str | None = option(
        None,
        "Character between the fields of CSV, such as ';' or '|', or the word tab.",
        checks.delimiter(),
        "CHARACTER",
        default_text=delimiter_help(),
    )
    header: bool = option(
        True,
        "The first row of CSV names the columns.",
        checks.switch,
        off_help="CSV has no header row: columns are named 0, 1, 2 and so on.",
    )
    lines: bool = option(False, "Read each line of a text file as a document.", checks.switch)
    html: bool = option(
        False,
        "Texts are web pages: compare the text of their main content, without navigation. In folders, read only files "
        "whose names end like those of pages (.html), or those that --include selects.",
        checks.switch,
        common=True,
    )
    include: tuple[str, ...] = option(
        (), "In folders, read only files that match this pattern.", checks.items(str), "PATTERN"
    )
    exclude: tuple[str, ...] = option(
        (), "In folders, skip files that match this pattern.", checks.items(str), "PATTERN"
    )
    subset: str | None = option(
        None,
        "For the folder of a data set: read this subset (config) of its card, the YAML at the beginning of README.md.",
        checks.text("a name"),
        "NAME",
        default_text="the default of the card, or its only one",
    )
    data_split: str | None = option(
        None,
        "For the folder of a data set: read only this split of its card, such as train.",
        checks.text("a name"),
        "NAME",
        default_text="all splits",
    )
    encoding: str = option("utf-8", *ENCODING)
    on_error: str = option(
        "replace",
        "Handling of unreadable data. replace: undecodable bytes become U+FFFD and are counted, malformed rows stop "
        "the run; stop: both stop the run; skip: malformed rows and files that cannot be read are skipped, "
        "counted and named. Damaged pictures are skipped, counted and named by default too.",
        checks.choice("replace", "stop", "skip"),
    )
    by: str | None = option(
        None, "Compare only rows with the same value in this column.", checks.column(none=True), "COLUMN"
    )
    against: tuple[object, ...] = option(
        (), "Compare the sources only with this one, not with each other.", checks.items(object), "SOURCE"
    )

    def _check_together(self) -> None:
        super()._check_together()
        if self.no_id and self.id is not None:
            raise OptionError("--id and --no-id exclude each other: an id is a value of a column or file:row; give one")
        if self.html and self.lines:
            raise OptionError("--html reads a web page as one document, --lines each line; leave one of them out")


@dataclass(frozen=True, kw_only=True)
class ShingleOptions(Options):
    """Options for making shingles."""

    title: ClassVar[str] = "Shingles"
    measures_texts: ClassVar[bool] = False
    """Whether the job can choose its shingles by measuring all documents."""

    shingle: str = option(
        "word:5",
        "Shingles to compare: runs of K words or K characters. pairs, dedup and index create also accept auto: the "
        "longest at which two median documents that differ in one word reach the threshold.",
        checks.shingle_spec,
        "KIND:K",
        common=True,
    )
    bag: bool = option(False, "Count repeated shingles (a bag instead of a set).", checks.switch)
    lowercase: bool = option(
        True, "Convert text to lower case.", checks.switch, off_help="Distinguish upper and lower case."
    )
    nfc: bool = option(
        True, "Normalise text to Unicode NFC.", checks.switch, off_help="Do not normalise text to Unicode NFC."
    )
    squeeze: bool = option(
        True,
        "Collapse each run of white space to one space and strip the ends (char shingles).",
        checks.switch,
        off_help="Keep white space unchanged (char shingles).",
    )
    spaces: bool = option(
        True,
        "Count white space as characters (char shingles).",
        checks.switch,
        off_help="Remove all white space (char shingles).",
    )
    split: bool = option(
        True,
        "Treat each emoji, and each character of a script written without spaces, as a word (word shingles).",
        checks.switch,
        off_help="Do not treat each character of a script written without spaces as a word (word shingles).",
    )

    def _check_together(self) -> None:
        super()._check_together()
        if not (self.spaces or self.squeeze):
            raise OptionError("--no-spaces removes the white space that --no-squeeze keeps; leave one of them out")
        if self.shingle == AUTO and not self.measures_texts:
            raise OptionError(f"shingle is {AUTO!r}; allowed here: {checks.SHINGLE_ALLOWED}")
        if self.shingle == AUTO and getattr(self, "item_kind", "text") == "records":
            raise OptionError(
                f"shingle is {AUTO!r}, which measures one text column; give each column its own, such as title,word:2"
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
    """Options that define near-duplicates and the recall of the search."""

    title: ClassVar[str] = "Plan"

    threshold: float = option(
        0.8,
        "Minimum exact similarity of a reported pair (inclusive): Jaccard for texts and sets, cosine for vectors.",
        checks.number(above=0.0, most=1.0),
        "T",
        common=True,
    )
    recall: float = option(
        0.99,
        "Minimum probability of finding a pair exactly at the threshold.",
        checks.number(above=0.0, below=1.0),
        "P",
        common=True,
    )
    n_hashes: int | None = option(
        None,
        "Hashes per sketch.",
        checks.whole(1, MOST_HASHES, none=True),
        "K",
        flags=("--hashes", "--n-hashes"),
        default_text="chosen by the plan",
    )
    n_bands: int | None = option(
        None,
        "Number of bands; more bands find less similar pairs.",
        checks.whole(1, MOST_HASHES, none=True),
        "B",
        flags=("--bands", "--n-bands"),
        default_text="chosen by the plan",
    )
    rows_per_band: int | None = option(
        None,
        "Rows per band; with more rows, pairs must be more similar.",
        checks.whole(1, MOST_HASHES, none=True),
        "R",
        flags=("--rows", "--rows-per-band"),
        default_text="chosen by the plan",
    )
    sketch: str = option("fss", *SKETCH)
    seed: int = option(DEFAULT_SEED, *SEED)

    @property
    def least(self) -> float:
        """The minimum similarity of scored pairs, for which the plan is made."""
        return self.threshold

    def _check_together(self) -> None:
        super()._check_together()
        bands, rows, most = self.n_bands or 1, self.rows_per_band or 1, self.n_hashes or MOST_HASHES
        if bands * rows > most:
            raise OptionError(
                f"n_bands × rows_per_band is {bands} × {rows} = {bands * rows}, more than "
                f"{'n_hashes' if self.n_hashes else 'the maximum number of hashes'}, {most}; "
                "use more hashes, or fewer bands or rows"
            )


@dataclass(frozen=True, kw_only=True)
class ContainmentOptions(PlanOptions):
    """Options that define near-duplicates, by similarity or by containment."""

    contained: float | None = option(
        None,
        "Instead of --threshold: find pairs in which one contains at least this share of the other's shingles "
        "(inclusive), whatever their sizes.",
        checks.optional(checks.number(above=0.0, most=1.0)),
        "T",
        default_text="pairs are found by --threshold",
        common=True,
    )

    def _check_together(self) -> None:
        super()._check_together()
        if self.contained is None:
            return
        defaults = self.defaults()
        if self.threshold not in (defaults["threshold"], self.contained):
            raise OptionError("pairs are found by --threshold (similarity) or by --contained; leave one of them out")
        for name in ("n_hashes", "n_bands", "rows_per_band", "sketch"):
            if getattr(self, name) != defaults[name]:
                flag = dict(self.specs())[name].spellings(name)[0]
                raise OptionError(f"{flag} does not apply to --contained: no sketches are made; leave one of them out")
        object.__setattr__(self, "threshold", self.contained)


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """Resources of a run; none of these options changes a result."""

    title: ClassVar[str] = "Work"

    threads: int | None = option(
        None,
        "Number of threads.",
        checks.whole(1, 4096, none=True),
        "N",
        default_text="all cores",
        result=False,
    )
    memory: int | None = option(
        None,
        "Memory limit, such as 2GB or 512MiB; data that does not fit is written to --scratch.",
        checks.size(LEAST_MEMORY, 2**60, none=True),
        "SIZE",
        default_text="half of the free memory",
        result=False,
        common=True,
    )
    scratch: str | None = option(
        None,
        "Folder for temporary files.",
        checks.path,
        "FOLDER",
        default_text="beside the output, else the system's temporary folder",
        result=False,
    )
    batch_bytes: int = option(
        16 * 2**20,
        "Amount of text that a thread processes at a time, such as 16MiB.",
        checks.size(1024, 2**30),
        "SIZE",
        flags=("--batch",),
        result=False,
    )

    @property
    def thread_count(self) -> int:
        """The given number of threads, else as many as this process may use."""
        return self.threads or default_threads()

    @property
    def memory_bytes(self) -> int:
        """The given memory limit, else half of the memory that is free now."""
        return self.memory or default_memory()


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Options):
    """Where a run takes place; none of these options changes the pairs."""

    title: ClassVar[str] = "Engine"

    engine: str = option(
        "local",
        "local: threads of this machine; spark: Apache Spark, for collections that one machine cannot hold.",
        checks.choice("local", "spark"),
        result=False,
    )
    master: str | None = option(
        None,
        "With --engine spark: the master of the cluster, such as spark://host:7077 or local[4].",
        checks.text("an address"),
        "URL",
        default_text="that of the Spark configuration",
        result=False,
    )
    connect: str | None = option(
        None,
        "With --engine spark: a server of Spark Connect, such as sc://host:15002.",
        checks.text("an address"),
        "URL",
        result=False,
    )
    order_by: str | None = option(
        None,
        "With --engine spark: the column whose order the keep rule first follows, since rows of Spark have none.",
        checks.column(none=True),
        "COLUMN",
        default_text="the id",
        result=False,
    )

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("master", "connect", "order_by"):
            if getattr(self, name) is not None and self.engine != "spark":
                raise OptionError(f"--{name.replace('_', '-')} needs --engine spark: it has no other use")
        if self.master is not None and self.connect is not None:
            raise OptionError("--master and --connect exclude each other: a session has one of them; leave one out")


@dataclass(frozen=True, kw_only=True)
class AuditOptions(Options):
    """Options of the audit, which measures the recall of a run."""

    title: ClassVar[str] = "Audit"

    audit: int | None = option(
        None,
        "Compare N random documents exactly with all others, and report the share of their pairs that the run found; "
        "0 for no audit.",
        checks.whole(0, 2**32 - 1, none=True),
        "N",
        default_text="a number that takes a small part of the run time; all documents of a small corpus",
        result=False,
    )
