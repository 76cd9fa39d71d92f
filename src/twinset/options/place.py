"""The place of a result: a folder, or one file of kept rows with a folder of details beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinset.errors import OptionError
from twinset.options.formats import ROW_ENDINGS, is_folder_name, refuse_file_name, row_file_format
from twinset.system.addresses import is_address, shown_address

DETAILS_ENDING = ".details"
VERDICTS_ENDING = ".verdicts"


@dataclass(frozen=True)
class Place:
    """Where a result is written: `folder` has the tables and, without a `file`, the kept rows too.

    Examples
    --------
    >>> Place.named("clean.csv")
    Place(folder=PosixPath('clean.csv.details'), file=PosixPath('clean.csv'))
    >>> Place.named("clean").file, Place.named("clean.csv/").file
    (None, None)
    """

    folder: Path
    file: Path | None = None

    @classmethod
    def named(cls, output: Any) -> Place:
        """Return the place that a name stands for: a file of rows if it has such an ending, otherwise a folder."""
        name = os.fsdecode(output)
        path = Path(name)
        if row_file_format(name) is None:
            if not is_folder_name(name):
                refuse_file_name(name, ROW_ENDINGS)
            return cls(path)
        return cls(Path(f"{path}{DETAILS_ENDING}"), path)

    @classmethod
    def of(cls, output: Any) -> Place | None:
        """Return the place of an output that may be None."""
        return None if output is None else cls.named(output)

    @property
    def name(self) -> Path:
        """The path that the user gave."""
        return self.file or self.folder

    @property
    def paths(self) -> list[Path]:
        """The file and the folder."""
        return [self.folder] if self.file is None else [self.file, self.folder]


def names_in_place(output: str) -> tuple[str | None, str]:
    """Return the names of the file of rows and of the folder of an output, which may be an address.

    Examples
    --------
    >>> names_in_place("clean/"), names_in_place("s3://news/clean.csv")
    ((None, 'clean'), ('s3://news/clean.csv', 's3://news/clean.csv.details'))
    """
    if not is_address(output):
        place = Place.named(output)
        return None if place.file is None else str(place.file), str(place.folder)
    if row_file_format(output) is None:
        return None, output.rstrip("/")
    return output, f"{output}{DETAILS_ENDING}"


def verdicts_beside(result: Any) -> Path:
    """Return the file of verdicts beside a result, named by its folder or its file of kept rows.

    Examples
    --------
    >>> verdicts_beside("clean/"), verdicts_beside("clean.csv"), verdicts_beside("clean.csv.details")
    (PosixPath('clean.verdicts'), PosixPath('clean.csv.verdicts'), PosixPath('clean.csv.verdicts'))
    """
    name = str(Path(os.fsdecode(result)))
    return Path(name.removesuffix(DETAILS_ENDING) + VERDICTS_ENDING)


def result_folder(name: Any) -> Path:
    """Return the folder of a result by the name that `dedup` was given: a folder, or a file of kept rows."""
    given = os.fsdecode(name)
    if is_address(given):
        raise OptionError(f"{shown_address(given)}: a result is opened from this machine; copy it here first")
    path = Path(given)
    details = Path(f"{path}{DETAILS_ENDING}")
    is_file = not path.is_dir() and (details.is_dir() or row_file_format(str(path)) is not None)
    return details if is_file else path


def missing_result(folder: Path) -> str:
    """Say what is missing where a result has no summary, and what to name.

    Examples
    --------
    >>> missing_result(Path("clean.csv.details")).partition("wrote")[2]
    ' with the folder clean.csv.details beside it'
    """
    what = "there is no such file; name a folder or a file of rows that dedup, recut, pairs or passages wrote"
    return f"{what} with the folder {folder.name} beside it" if folder.name.endswith(DETAILS_ENDING) else what
