"""``twinset.explain``: what two texts share, or why a document of a result was kept or removed."""

from __future__ import annotations

import os
from typing import Any, overload

from twinset.errors import OptionError, SourceError
from twinset.jobs.result import DedupResult, open_dedup
from twinset.options.checks import shown_value
from twinset.options.results import ExplainOptions
from twinset.pairs.explain.shared import Explanation, explain_texts
from twinset.results.explain import Account


@overload
def explain(left: str, right: str, **options: Any) -> Explanation: ...


@overload
def explain(left: DedupResult | os.PathLike[str], right: str | int, **options: Any) -> Account: ...


def explain(left: Any, right: Any, **options: Any) -> Explanation | Account:
    """Explain the similarity of two texts, or the outcome of a document of a result.

    Parameters
    ----------
    left, right
        Two texts. Or a `DedupResult`, or its folder as a `pathlib.Path`, and the id of a document.
    **options
        Of texts: the options of `twinset explain`, as keyword arguments. Of a result: `other` and `source`, as for
        `DedupResult.explain`.

    Returns
    -------
    Explanation or Account
        Of texts: `.similarity`, `.left_in_right`, `.right_in_left`, the shingles `.shared`, `.left_only` and
        `.right_only` as texts, and `.hunks(context)`, the word-level difference. Of a result: an `Account`.

    Examples
    --------
    >>> import twinset
    >>> found = twinset.explain("the red house by the sea", "the blue house by the sea", shingle="word:3")
    >>> found.shared
    ('house by the', 'by the sea')
    >>> [(part.left, part.right) for hunk in found.hunks() for part in hunk.parts if not part.words]
    [('red ', 'blue ')]
    >>> twinset.explain(twinset.dedup(["the same text", "the same text"]), 1)
    <Account: '1' is removed, explained with '0'>
    """
    if isinstance(left, (DedupResult, os.PathLike)):
        if unknown := [name for name in options if name not in ("other", "source")]:
            raise OptionError(f"{unknown[0]} does not apply to a result; allowed: other and source")
        done = left if isinstance(left, DedupResult) else open_dedup(left)
        return done.explain(right, **options)
    checked = ExplainOptions.of(**options)
    for text in (left, right):
        if not isinstance(text, str):
            raise OptionError(
                f"{shown_value(text)} is of type {type(text).__name__}; allowed: two texts, or a result and an id"
            )
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise SourceError.unpaired_surrogate("a text to explain", error) from error
    return explain_texts(left, right, checked)
