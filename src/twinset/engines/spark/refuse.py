"""Options that a run on Spark cannot honour, each with the reason."""

from __future__ import annotations

from twinset.errors import OptionError
from twinset.options import DedupOptions, PairsOptions
from twinset.options.checks import AUTO
from twinset.options.items import SETS

__all__ = ["refuse_unsupported"]

_READING = "Spark reads the rows; read them with the session and pass the data frame"
_RESOURCES = "Spark decides where work is done; set it in the session"
_REASONS = {
    "exact": "candidates come from sketches only",
    "contained": "pairs are found by similarity only",
    "top": "pairs are found by --threshold only",
    "against": "one data frame is compared with itself only",
    "index": "an index is used by one machine",
    "verdicts": "pairs judged duplicate are compared in the memory of one machine, whatever their similarity",
    "copy": "rows have no files of their own",
    "hosts": "hosts are counted in the memory of one machine; group the pairs with the session",
    "html": "the extractor of web pages runs on one machine; extract the texts first",
    "details_format": "tables are written as Parquet",
    "no_id": "the rows of a data frame have no numbers that could be their names",
    **dict.fromkeys(
        ("format", "delimiter", "header", "lines", "include", "exclude", "encoding", "subset", "data_split"), _READING
    ),
    **dict.fromkeys(("threads", "memory", "batch_bytes"), _RESOURCES),
}


def refuse_unsupported(options: PairsOptions | DedupOptions) -> None:
    """Raise if an option, or the kind of items, needs the local engine."""
    if options.item_kind not in SETS:
        raise OptionError(
            f"{options.item_flag} cannot be used with --engine spark: {options.item_noun} are compared in the memory "
            "of one machine; use the local engine"
        )
    if options.shingle == AUTO:
        raise OptionError(
            "shingle is 'auto', which measures all texts first and cannot be used with --engine spark; name it"
        )
    for name, spec in options.specs():
        if name in _REASONS and options.was_given(name):
            flag = spec.spellings(name)[0]
            raise OptionError(f"{flag} cannot be used with --engine spark: {_REASONS[name]}; leave it out")
