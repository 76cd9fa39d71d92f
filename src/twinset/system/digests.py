"""SHA-256 of source files."""

from __future__ import annotations

import hashlib
import os

from twinset.errors import SourceError


def file_digest(path: str | os.PathLike[str], name: str) -> str:
    """Return the SHA-256 of a file in hexadecimal; errors call the file `name`."""
    try:
        with open(path, "rb", buffering=0) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror or error}", where=name) from error
