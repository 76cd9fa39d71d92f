"""Read settings from a file and from environment variables, under the names of the flags.

A file has a table for each command and the table ``common`` for all of them. An environment variable is
``TWINSET_<TABLE>_<FLAG>``. A flag wins over a variable, a variable over the file, and a command's own table over
``common``; click merges them.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from twinset.errors import OptionError, TwinsetError

FILE = "twinset.toml"
COMMON = "common"
PREFIX = "TWINSET"

_TABLES = f"{__name__}.tables"  # in `Context.meta`: the table of each setting of the file
_FILE = f"{__name__}.file"


class Setting(NamedTuple):
    """A value that was given, and where."""

    name: str
    value: Any
    origin: str


def keys_of(param: click.Parameter) -> tuple[str, ...]:
    """Return the names of a flag in a file: its long spellings without dashes; none if it cannot be set there."""
    if not isinstance(param, click.Option) or not param.expose_value:
        return ()
    return tuple(one[2:] for one in param.opts if one.startswith("--"))


def variable(table: Iterable[str], key: str) -> str:
    """Return the environment variable of a key.

    Examples
    --------
    >>> variable(["index", "add"], "on-error")
    'TWINSET_INDEX_ADD_ON_ERROR'
    """
    return "_".join((PREFIX, *table, key)).upper().replace("-", "_")


def find_variable(ctx: click.Context, param: click.Option) -> str | None:
    """Return the environment variable that sets a flag; an empty one counts as not set."""
    keys = ("config",) if param.name == "config" else keys_of(param)
    names = (variable(table, key) for table in (_path(ctx), (COMMON,)) for key in keys)
    return next((name for name in names if os.environ.get(name)), None)


def read_settings(ctx: click.Context, given: str | None) -> None:
    """Make the settings of a file, and of no other source, the defaults of a command; refuse unknown variables."""
    _refuse_unknown_variables(ctx)
    file = Path(given or FILE)
    if given is None and not file.is_file():
        return
    tables = _read(file)
    _refuse_unknown_tables(ctx, file, tables)
    values: dict[str, Any] = {}
    named: dict[str, str] = {}
    for path in ((COMMON,), _path(ctx)):
        title = f"[{'.'.join(path)}]"
        for key, value in _table(file, tables, path).items():
            param = _param(ctx.command, key)
            if param is None:
                _refuse_unknown_key(ctx, path, key, f"{file}: {key!r} in {title} is not a setting")
                continue
            if isinstance(value, dict) or (isinstance(value, list) and not param.multiple):
                raise OptionError(f"{file}: {key!r} in {title} needs one value, not a {type(value).__name__}")
            name = str(param.name)
            values[name] = [value] if param.multiple and not isinstance(value, list) else value
            named[name] = title
    ctx.default_map = values
    ctx.meta[_FILE], ctx.meta[_TABLES] = str(file), named


def given_settings(ctx: click.Context, flags: bool = False) -> Iterator[Setting]:
    """Yield the settings of the environment and the file, and with `flags` also those of the command line."""
    for param in ctx.command.params:
        keys = keys_of(param)
        if not keys or not isinstance(param, click.Option):
            continue
        value = ctx.params.get(str(param.name))
        if origin := _origin(ctx, param):
            yield Setting(keys[0], value, origin)
        elif flags and ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE:
            yield Setting(keys[0], value, "command line")


def _origin(ctx: click.Context, param: click.Option) -> str:
    """Return the variable, or the file and its table, that sets a flag; empty if neither does."""
    source = ctx.get_parameter_source(str(param.name))
    if source is ParameterSource.ENVIRONMENT:
        return str(find_variable(ctx, param))
    return f"{ctx.meta[_FILE]} {ctx.meta[_TABLES][param.name]}" if source is ParameterSource.DEFAULT_MAP else ""


def add_origin(error: OptionError, ctx: click.Context, param: click.Option) -> None:
    """Add the origin of a flag's value to an error about the flag, unless the user typed it."""
    if (keys := keys_of(param)) and (origin := _origin(ctx, param)):
        error.add_note(f"{keys[0]} is set in {origin}")


def add_origins(error: TwinsetError, ctx: click.Context) -> None:
    """Add to an error the origin of each setting that it is about, unless the user typed the setting."""
    message = str(error).replace("_", "-")
    for one in given_settings(ctx):
        # Other errors name the flag that helps; words such as text and id are in many of them.
        if (one.name if isinstance(error, OptionError) else f"--{one.name} ") in f"{message} ":
            error.add_note(f"{one.name} is set in {one.origin}")


def _path(ctx: click.Context) -> tuple[str, ...]:
    """Return the words of a command: its table."""
    return tuple(ctx.command_path.split()[1:])


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            return tomllib.load(opened)
    except OSError as error:
        raise OptionError(f"cannot read the settings {file}: {(error.strerror or str(error)).lower()}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"{file}: not a TOML file: {error}") from error


def _table(file: Path, tables: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """Return a table of the file, empty if it is missing."""
    found: Any = tables
    for word in path:
        found = found.get(word, {})
        if not isinstance(found, dict):
            raise OptionError(f"{file}: {'.'.join(path)} must be a table; write [{'.'.join(path)}] above its settings")
    return dict(found)


def _refuse_unknown_tables(ctx: click.Context, file: Path, tables: Mapping[str, Any]) -> None:
    root = ctx.find_root().command
    known = [COMMON, *(root.list_commands(ctx) if isinstance(root, click.Group) else ())]
    for name, value in tables.items():
        if name in known and isinstance(value, dict):
            continue
        if not isinstance(value, dict):
            raise OptionError(f"{file}: {name!r} is outside a table; write it below [{COMMON}] or [{_path(ctx)[0]}]")
        raise OptionError(f"{file}: unknown table [{name}]; {_nearest(name, known, '[{}]')}")


def _refuse_unknown_variables(ctx: click.Context) -> None:
    for path in (_path(ctx), (COMMON,)):
        start = variable(path, "")
        for name in sorted(os.environ):
            key = name.removeprefix(start).lower().replace("_", "-")
            if name.startswith(start) and key != "config" and _param(ctx.command, key) is None:
                _refuse_unknown_key(ctx, path, key, f"the environment variable {name} is not a setting")
    _refuse_without_table(ctx)


def _refuse_without_table(ctx: click.Context) -> None:
    """Refuse a variable that is named after a flag alone: it would have no effect."""
    path, root, start = _path(ctx), ctx.find_root(), f"{PREFIX}_"
    tables = variable(path, ""), variable((COMMON,), "")
    for name in sorted(os.environ):
        if not os.environ[name] or not name.startswith(start) or name.startswith(tables):
            continue
        key = name.removeprefix(start).lower().replace("_", "-")
        if key == "config" or any(_param(one, key) for one in _leaves(root.command, root)):
            own = f"{variable(path, key)}, or " if key == "config" or _param(ctx.command, key) else ""
            raise OptionError(
                f"the environment variable {name} is not a setting; did you mean {own}{variable((COMMON,), key)} for "
                "all commands?"
            )


def _refuse_unknown_key(ctx: click.Context, path: Sequence[str], key: str, problem: str) -> None:
    """Refuse a key that the command does not have; a key of ``common`` must be known to any command."""
    commands = [ctx.command]
    if tuple(path) == (COMMON,):
        root = ctx.find_root()
        commands = list(_leaves(root.command, root))
        if any(_param(one, key) for one in commands):
            return
    known = {name for one in commands for param in one.params for name in keys_of(param)}
    in_variable = problem.startswith("the environment")
    hint = _nearest(key, sorted(known), "{}")
    if in_variable and "did you mean " in hint:
        near = hint.removeprefix("did you mean ").removesuffix("?")
        hint = f"did you mean {variable(path, near)}?"
    raise OptionError(f"{problem}; {hint}")


def _leaves(command: click.Command, ctx: click.Context) -> Iterator[click.Command]:
    if not isinstance(command, click.Group):
        yield command
        return
    for name in command.list_commands(ctx):
        if found := command.get_command(ctx, name):
            yield from _leaves(found, ctx)


def _param(command: click.Command, key: str) -> click.Option | None:
    found = (one for one in command.params if isinstance(one, click.Option) and key in keys_of(one))
    return next(found, None)


def _nearest(name: str, known: Sequence[str], form: str) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {form.format(near[0])}?" if near else f"known: {', '.join(known)}"
