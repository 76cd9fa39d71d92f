"""Every option, once: its name, default, bounds, choices and help.

The keyword words of the Python functions, the flags of the command line and `docs/commands.md` are all
derived from the dataclasses below. They only hold and check values; nothing heavy is imported here.

    ReadOptions  ShingleOptions  PlanOptions  RunOptions
          └───────────┴────┬─────────┴───────────┘
              PairsOptions · DedupOptions          CompareOptions (shingles and a sketch)
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from . import checks
from .checks import Check, Word, parse_keep, parse_shingle
from .errors import OptionError
from .machine import LEAST_MEMORY, default_memory, default_threads

__all__ = [
    "CompareOptions",
    "DedupOptions",
    "Options",
    "PairsOptions",
    "PlanOptions",
    "ReadOptions",
    "RunOptions",
    "ShingleOptions",
]

DEFAULT_SEED = 1
MOST_HASHES = 65536


def option(default: Any, help: str, check: Check, metavar: str | None = None, **more: Any) -> Any:
    """Write one option down: a dataclass field with all that is said about it."""
    return field(default=default, metadata={"word": Word(help, check, metavar, **more)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """A group of options: checked when made, never changed afterwards."""

    title: ClassVar[str] = "Options"

    def __post_init__(self) -> None:
        for name, word in self.words():
            object.__setattr__(self, name, word.check(name, getattr(self, name)))
        self._check_together()

    def _check_together(self) -> None:
        """Refuse options that are right one by one but not together."""

    @classmethod
    def of(cls, **words: Any) -> Self:
        """Make the options from keyword words; wrong names and values raise `OptionError`.

        Examples
        --------
        >>> PlanOptions.of(threshold=0.7).threshold
        0.7
        >>> PlanOptions.of(treshold=0.7)
        Traceback (most recent call last):
        twinset.errors.OptionError: there is no option 'treshold'; did you mean 'threshold'?
        """
        known = dict(cls.words())
        for name in words:
            if name not in known:
                raise OptionError(_unknown(name, known))
        return cls(**words)

    @classmethod
    def words(cls) -> Iterator[tuple[str, Word]]:
        """Give each option's name with what is said about it, in the order of the help page."""
        for one in dataclasses.fields(cls):
            yield one.name, one.metadata["word"]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Give the default of every option."""
        return {one.name: one.default for one in dataclasses.fields(cls)}

    @classmethod
    def group_of(cls, name: str) -> str:
        """Name the group under which the help page shows an option."""
        owner = next(base for base in cls.__mro__ if name in inspect.get_annotations(base))
        return str(owner.__dict__.get("title", cls.title))

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Give the options as plain values, ready for JSON.

        With `result_only`, those that cannot change a result (threads, memory, scratch, batch, force) are
        left out, so that two runs with equal dictionaries on equal sources have equal results.
        """
        return {
            name: _plain(getattr(self, name)) for name, word in self.words() if word.result or not result_only
        }


# Said by more than one group below.
_ENCODING = ("Encoding of text files, JSON lines and CSV.", checks.encoding_name, "NAME")
_SKETCH = (
    "Sketch. fss: fast similarity sketching; kperm: the textbook's k permutations.",
    checks.choice("fss", "kperm"),
)
_SEED = ("Seed of all hashing.", checks.whole(0, 2**64 - 1), "N")


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Options):
    """How sources are read."""

    title: ClassVar[str] = "Reading"

    text: str = option("text", "Column that holds the text.", checks.column(), "COLUMN")
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

    @property
    def kind(self) -> str:
        """The kind of token: ``"word"`` or ``"char"``."""
        return parse_shingle(self.shingle)[0]

    @property
    def size(self) -> int:
        """The number of tokens in a shingle."""
        return parse_shingle(self.shingle)[1]


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Options):
    """What counts as near, and how surely it is found."""

    title: ClassVar[str] = "Plan"

    threshold: float = option(
        0.8,
        "Least exact similarity (Jaccard) of a reported pair; inclusive.",
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
class PairsOptions(RunOptions, PlanOptions, ShingleOptions, ReadOptions):
    """The options of `twinset.find_pairs` and ``twinset pairs``."""

    title: ClassVar[str] = "Pairs"

    identical: str = option(
        "all",
        "Pairs of identical documents. all: every one; link: each copy with its first appearance only.",
        checks.choice("all", "link"),
    )


@dataclass(frozen=True, kw_only=True)
class DedupOptions(RunOptions, PlanOptions, ShingleOptions, ReadOptions):
    """The options of `twinset.dedup` and ``twinset dedup``."""

    title: ClassVar[str] = "Clusters"

    keep: str = option("first", "Which document of a cluster is kept.", checks.keep_chain, "RULES")
    cluster: str = option(
        "leader",
        "leader: each removed document is near the kept one; components: chains of near documents; "
        "complete: all members are near each other.",
        checks.choice("leader", "components", "complete"),
    )
    copy: bool = option(
        False, "Of a folder of files, copy the kept files too, not only list them.", checks.switch
    )
    flag: bool = option(
        False, "Remove nothing; add the columns cluster, duplicate_of and similarity instead.", checks.switch
    )
    force: bool = option(False, "Replace an output that exists.", checks.switch, result=False)

    def _check_together(self) -> None:
        super()._check_together()
        if self.against and (self.keep != "first" or self.cluster != "leader"):
            came = f"--keep {self.keep}" if self.keep != "first" else f"--cluster {self.cluster}"
            raise OptionError(
                f"{came} has no meaning with --against: documents are compared with those of the other source only, "
                "which are always kept; leave one of the two out"
            )

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


def _unknown(name: str, known: Mapping[str, Word]) -> str:
    """Say that there is no such option, and guess what was meant."""
    names = {key: key for key in known}
    for key, word in known.items():
        names.update((flag.strip("-").replace("-", "_"), key) for flag in word.spellings(key))
    near = difflib.get_close_matches(name, names, n=1)
    guess = f"did you mean {names[near[0]]!r}?" if near else f"the options are {', '.join(known)}"
    return f"there is no option {name!r}; {guess}"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return os.fspath(value) if isinstance(value, os.PathLike) else f"<{type(value).__name__}>"
