"""Options of `passages` and `trim`: which runs of words count, and which copies are cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.keep_rules import DATE_FORMAT, KEEP, RuleChain, check_date_format, check_kind, parse_keep
from twinset.options.steps import DETAILS_FORMAT, FORCE, ReadOptions, RunOptions, ShingleOptions

MOST_WORDS = 65_535
PLACES = 10
"""A window is crowded, too, at more than this many times `crowd` places."""
LINE_SEPARATOR = "\u2028"
UNITS = ("words", "line", "paragraph")

_SHINGLE_SPECS, _RUN_SPECS = dict(ShingleOptions.specs()), dict(RunOptions.specs())


def _as_elsewhere(name: str) -> Any:
    """Reuse the description of an option of `ShingleOptions`."""
    return field(default=ShingleOptions.defaults()[name], metadata={"spec": _SHINGLE_SPECS[name]})


def _mark(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    if not 1 <= len(value) <= 100:
        raise ValueError
    return value


@dataclass(frozen=True, kw_only=True)
class WordRunOptions(RunOptions):
    """Resources of a run over words, which take more memory than the text: smaller batches are faster, too."""

    batch_bytes: int = field(default=4 * 2**20, metadata={"spec": _RUN_SPECS["batch_bytes"]})


@dataclass(frozen=True, kw_only=True)
class WordOptions(Options):
    """Options that define when two words are equal."""

    title: ClassVar[str] = "Words"

    lowercase: bool = _as_elsewhere("lowercase")
    nfc: bool = _as_elsewhere("nfc")
    split: bool = _as_elsewhere("split")


@dataclass(frozen=True, kw_only=True)
class PassageOptions(Options):
    """Options that define a passage."""

    title: ClassVar[str] = "Passages"

    least: int = option(
        50, "Minimum number of shared words of a passage.", checks.whole(1, MOST_WORDS), "N", common=True
    )
    gap: int = option(
        0,
        "Join runs of shared words with up to this number of other words between them, on either side. 0: a passage is "
        "a run of equal words.",
        checks.whole(0, 1000),
        "N",
        common=True,
    )
    run: int = option(5, "With --gap: minimum length of a run that is joined.", checks.whole(1, MOST_WORDS), "N")
    crowd: int = option(
        100,
        "Text in more documents than this is boilerplate: each copy is paired with the first one only.",
        checks.whole(1, 2**31),
        "N",
        common=True,
    )
    within: bool = option(False, "Also find passages that one document contains twice.", checks.switch, common=True)

    def _check_together(self) -> None:
        super()._check_together()
        if self.gap and self.run > self.least:
            raise OptionError(
                f"run is {self.run}, more than least, {self.least}; a passage is made of runs: lower run or raise least"
            )


@dataclass(frozen=True, kw_only=True)
class PassagesOptions(WordRunOptions, PassageOptions, WordOptions, ReadOptions):
    """The options of `twinset.find_passages` and ``twinset passages``."""

    title: ClassVar[str] = "Output"
    kinds: ClassVar[tuple[str, ...]] = ("text",)
    why_not: ClassVar[str] = "finds passages of texts"
    # Options that only dedup and trim have.
    keep_rules: ClassVar[RuleChain] = ()
    flag: ClassVar[bool] = False
    mark: ClassVar[str] = ""

    details_format: str = option("parquet", *DETAILS_FORMAT, result=False)
    force: bool = option(False, *FORCE, result=False, common=True)

    def _check_together(self) -> None:
        super()._check_together()
        if self.within and self.against:
            raise OptionError(
                "--within cannot be used with --against: documents are compared only with those of the other source; "
                "leave one of them out"
            )


@dataclass(frozen=True, kw_only=True)
class TrimOptions(WordRunOptions, WordOptions, ReadOptions):
    """The options of `twinset.trim` and ``twinset trim``."""

    title: ClassVar[str] = "Cuts"
    kinds: ClassVar[tuple[str, ...]] = ("text",)
    why_not: ClassVar[str] = "cuts passages out of texts"
    # Options that only dedup has.
    flag: ClassVar[bool] = False

    least: int | None = option(
        None,
        "Minimum number of words of a repeated passage, or of a repeated line or paragraph.",
        checks.whole(1, MOST_WORDS, none=True),
        "N",
        default_text="50; 1 with --unit line or paragraph",
        common=True,
    )
    unit: str = option(
        "words",
        "Unit to compare. words: any run of words; line: whole lines; paragraph: whole paragraphs, which end at blank "
        "lines.",
        checks.choice(*UNITS),
        common=True,
    )
    copies: int = option(1, "Number of copies of a passage to keep.", checks.whole(1, 1000), "N", common=True)
    everywhere: bool = option(
        False, "Cut every copy of a repeated passage, the first one too.", checks.switch, common=True
    )
    keep: str = option("first", *KEEP, common=True)
    date_format: str | None = option(None, *DATE_FORMAT, default_text="detected from all dates")
    mark: str = option(
        LINE_SEPARATOR,
        "Text that replaces a cut between two remaining pieces; no repeated passage crosses it.",
        checks.Check(_mark, "a text of 1 to 100 characters", in_help=False),
        "TEXT",
        default_text="U+2028, a line separator",
    )
    leave: int = option(
        0,
        "List documents that have fewer words than this after the cuts; those without words are always listed.",
        checks.whole(0, 2**31),
        "N",
    )
    details_format: str = option("parquet", *DETAILS_FORMAT, result=False)
    force: bool = option(False, *FORCE, result=False, common=True)

    @property
    def least_words(self) -> int:
        """The minimum number of words of a cut."""
        if self.least is not None:
            return self.least
        return 50 if self.unit == "words" else 1

    @property
    def keep_rules(self) -> RuleChain:
        """The rules of the keep policy, each with the column it needs."""
        return parse_keep(self.keep)

    def _check_together(self) -> None:
        super()._check_together()
        if self.html:
            raise OptionError(
                "--html cannot be used here: passages are cut out of the text of a page, which cannot be put back into "
                "the page; twinset passages lists them"
            )
        check_kind(self.keep_rules, self.item_kind, self.item_flag)
        check_date_format(self.keep_rules, self.date_format)
        if self.everywhere and self.copies != 1:
            raise OptionError("--copies cannot be used with --everywhere, which keeps none; leave one of them out")
        if self.against:
            raise OptionError(
                "--against cannot be used with trim; name both as sources, the one to keep first, and use --keep source"
            )
        if self.unit != "words" and self.mark != LINE_SEPARATOR:
            raise OptionError(f"--mark cannot be used with --unit {self.unit}: line breaks stay; leave one of them out")
