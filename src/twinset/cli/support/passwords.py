"""Hide passwords in printed text."""

from __future__ import annotations

import re


def hide_passwords(text: str) -> str:
    """Hide passwords in URLs, including a URL that was given by mistake.

    Examples
    --------
    >>> hide_passwords("postgresql://ada:secret@host/db")
    'postgresql://ada:…@host/db'
    """
    text = re.sub(r"(\w://[^\s:/@]*):\S*@", r"\1:…@", text)
    return re.sub(r"(?i)\b(password=)[^\s&]+", r"\1…", text)
