"""Table of the keep rules, from which checks, messages, help and documentation are derived.

`clusters/keep.py` orders documents by these rules. This table must load without NumPy, since `twinset --help` reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from twinset.errors import OptionError
from twinset.options.checks import Check, optional, shown_value
from twinset.wording import either

RuleChain = tuple[tuple[str, str | None], ...]
"""The rules of a policy in order, each with the column it reads, if it reads one."""


@dataclass(frozen=True)
class KeepRule:
    """A rule that prefers one document of a cluster to another.

    `wins`: the preferred document, in one line. `column`: whether the rule needs a column, as in ``newest:date``.
    `dates`: whether the column holds dates, whose format an option can name. `final`: whether it is the order of the
    input, which needs no key and leaves no ties, so that no rule can follow. `undefined_for`: the kinds of items (a
    subset of `items.KINDS`) that it cannot order. `reason`: why it cannot.
    """

    name: str
    wins: str
    column: bool = False
    dates: bool = False
    final: bool = False
    undefined_for: tuple[str, ...] = ()
    reason: str = ""

    @property
    def spelling(self) -> str:
        """The rule as written on the command line, such as ``newest:COLUMN``."""
        return f"{self.name}:COLUMN" if self.column else self.name


KEEP_RULES = {
    rule.name: rule
    for rule in (
        KeepRule("first", "the earlier row", final=True),
        KeepRule(
            "longest",
            "the text with the most characters, the set with the most elements, the picture with the most pixels",
            undefined_for=("codes", "vectors", "sparse"),
            reason="its items have no length",
        ),
        KeepRule("source", "the source named earlier on the command line"),
        KeepRule("newest", "the latest date in the column; rows without a date come last", column=True, dates=True),
        KeepRule("oldest", "the earliest date in the column; rows without a date come last", column=True, dates=True),
        KeepRule("highest", "the highest number in the column; rows without a number come last", column=True),
        KeepRule("lowest", "the lowest number in the column; rows without a number come last", column=True),
    )
}

ALLOWED = ", ".join(rule.spelling for rule in KEEP_RULES.values()) + ", or several of these, such as source,longest"
COLUMN_FLAG = "--keep " + either([f"{rule.name}:NAME" for rule in KEEP_RULES.values() if rule.column])
"""The flag that names a column, for messages about a missing column."""


def rules_for(kind: str) -> list[KeepRule]:
    """Return the rules that need no column and can order items of this kind.

    Examples
    --------
    >>> [rule.name for rule in rules_for("codes")]
    ['first', 'source']
    """
    return [rule for rule in KEEP_RULES.values() if not rule.column and kind not in rule.undefined_for]


def parse_keep(chain: str) -> RuleChain:
    """Parse a keep policy into its rules in order, each with the column it needs.

    Examples
    --------
    >>> parse_keep("source,newest:date,longest")
    (('source', None), ('newest', 'date'), ('longest', None))
    """
    rules: list[tuple[str, str | None]] = []
    shown = shown_value(chain)
    for part in chain.split(","):
        name, colon, column = part.strip().partition(":")
        rule = KEEP_RULES.get(name)
        if rule is None:
            raise OptionError(f"keep is {shown}: {name!r} is not a rule; allowed: {ALLOWED}")
        if rule.column and not column:
            raise OptionError(f"keep is {shown}: {name} needs a column, such as {name}:date")
        if colon and not rule.column:
            raise OptionError(f"keep is {shown}: {name} takes no column; allowed: {ALLOWED}")
        if (name, column or None) in rules:
            raise OptionError(f"keep is {shown}: {part.strip()!r} appears twice; leave one out")
        if rules and KEEP_RULES[rules[-1][0]].final:
            raise OptionError(f"keep is {shown}: nothing can follow {rules[-1][0]}, which leaves no ties")
        rules.append((name, column or None))
    return tuple(rules)


def check_kind(rules: RuleChain, kind: str, flag: str) -> None:
    """Refuse rules that cannot order items of this kind; `flag` is the option that selects the kind."""
    for name, _ in rules:
        if kind in KEEP_RULES[name].undefined_for:
            raise OptionError(f"--keep {name} cannot be used with {flag}: {KEEP_RULES[name].reason}; leave it out")


def check_date_format(rules: RuleChain, date_format: str | None) -> None:
    """Refuse a date format that no rule reads."""
    if date_format is not None and not any(KEEP_RULES[name].dates for name, _ in rules):
        dated = either([rule.spelling for rule in KEEP_RULES.values() if rule.dates])
        raise OptionError(
            f"date_format is {date_format!r}, and keep reads no dates; add {dated} to keep, or leave it out"
        )


def _normal_form(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return ",".join(f"{rule}:{column}" if column else rule for rule, column in parse_keep(value))


KEEP = ("Rules that choose which document of a cluster is kept.", Check(_normal_form, ALLOWED), "RULES")
"""Help, check and metavar of the option ``keep``."""


def _date_format(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    fields = re.findall("%(.)", value.replace("%%", ""))
    if not fields or value.replace("%%", "").count("%") > len(fields) or not set(fields) <= set(_DATE_FIELDS):
        raise ValueError
    return value


_DATE_FIELDS = "YymdbBjHIMSpzsaATF"
DATE_FORMAT = (
    "Format of the dates of --keep newest:COLUMN and oldest:COLUMN, such as %d/%m/%Y.",
    optional(
        Check(
            _date_format,
            "a format of %Y, %m, %d, %H, %M, %S and the like, such as %d/%m/%Y",
            in_help=False,
        )
    ),
    "FORMAT",
)
"""Help, check and metavar of the option ``date_format``."""
