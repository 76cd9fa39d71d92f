"""How contents are compared: two runs with the same basis give equal contents the same digest."""

from __future__ import annotations

from typing import Any

from twinset.options.items import SETS
from twinset.schema import HASH_SCHEME

_SWITCHES = {"bag": False, "lowercase": True, "nfc": True, "squeeze": True, "spaces": True, "split": True}


def basis_of(options: Any) -> str:
    """Describe how a run with these options compares contents.

    Threshold, recall, names of columns, keep policy, and everything else that does not change a content are left out.

    Examples
    --------
    >>> from twinset.options import DedupOptions
    >>> basis_of(DedupOptions.of(threshold=0.7, text="body")), basis_of(DedupOptions.of(shingle="char:9", bag=True))
    ('text word:5 seed=1', 'text char:9 bag seed=1')
    >>> basis_of(DedupOptions.of(vectors=True)), basis_of(DedupOptions.of(text=("name,char:3,2", "city")))
    ('vectors', 'records char:3×2 word:5 seed=1')
    """
    kind = options.item_kind
    words = [kind if hasattr(options, "shingle") else f"passages of {kind}"]
    if kind in ("text", "records") and hasattr(options, "shingle"):
        columns = options.text_columns
        spec = [(one.shingle or options.shingle) + (f"×{one.weight}" if one.weight != 1 else "") for one in columns]
        words += spec
    for name, usual in _SWITCHES.items():
        value = getattr(options, name, usual)
        if value != usual:
            words.append(name if value else f"no-{name}")
    if kind in SETS and hasattr(options, "seed"):
        words.append(f"seed={options.seed}")
    if HASH_SCHEME != 1:
        words.append(f"scheme={HASH_SCHEME}")
    return " ".join(words)
