"""Derive the flags of the command line from the options."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from twinset.cli.support import help_pages, settings
from twinset.errors import OptionError, TwinsetError
from twinset.options import Options
from twinset.options.checks import Check, OptionSpec, shown_size, shown_value
from twinset.options.formats import source_help
from twinset.options.keep_rules import KEEP_RULES

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SHOW = "Output"
FILES = ("FILE", "FOLDER", "PATH", "PATH|URL", "SOURCE")
"""Placeholders of values that are files."""

FEW = 18
"""Up to this number of flags, all are shown by ``--help``; of more, the common ones."""

if TYPE_CHECKING:
    Kind = click.ParamType[Any]
else:
    Kind = click.ParamType  # older versions are not generic


class Value(Kind):
    """A value that is parsed by the check of its option."""

    def __init__(self, flag: str, check: Check) -> None:
        self.name = check.type.__name__
        self.flag = flag
        self.check = check

    def split_envvar_value(self, rv: str) -> list[str]:
        """Split the values of an environment variable as a shell does."""
        return shlex.split(rv)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse and check the value."""
        if isinstance(value, str) and self.check.multiple:
            return value
        return self.check.parse(self.flag, value) if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the choices of an option, or files."""
        if param.metavar in FILES:
            return [CompletionItem(incomplete, type="file")]
        before, offered = "", self.check.choices
        if param.name == "keep":  # several rules may follow each other
            chain, comma, incomplete = incomplete.rpartition(",")
            before = chain + comma
            offered = tuple(f"{rule.name}:" if rule.column else rule.name for rule in KEEP_RULES.values())
        return [CompletionItem(before + one) for one in offered if one.startswith(incomplete)]


class FileName(click.types.StringParamType):
    """The name of a file or a folder, which a shell completes."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Leave the completion to the shell."""
        return [CompletionItem(incomplete, type="file")]


class Flag(click.Option):
    """A flag with the heading under which the help page shows it."""

    def __init__(
        self, *parameters: Any, group: str = SHOW, bare: bool = False, common: bool = True, **more: Any
    ) -> None:
        super().__init__(*parameters, **more)
        self.group = group
        self.bare = bare  # whether its value is optional
        self.common = common  # whether the short help page shows it

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return the value of the environment variable that is named after this flag."""
        name = settings.find_variable(ctx, self)
        return os.environ[name] if name else None

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Parse the value; refuse the name of another flag, except as a text or id."""
        if self.metavar not in ("TEXT", "ID"):
            known = {name for one in ctx.command.params if isinstance(one, click.Option) for name in one.opts}
            for word in value if isinstance(value, tuple) else (value,):
                if isinstance(word, str) and word in known:
                    needs = f"{self.opts[0]} needs a value{f', {self.metavar}' if self.metavar else ''}"
                    raise click.UsageError(f"{needs}; it is followed by {word}, which is another option", ctx)
        try:
            return super().type_cast_value(ctx, value)
        except OptionError as error:
            settings.add_origin(error, ctx, self)
            raise
        except click.BadParameter as error:
            if not self.is_flag:
                raise
            allowed = "1, true, yes or on, and 0, false, no or off"
            wrong = OptionError(f"{self.opts[0]} is {shown_value(value)}; allowed: {allowed}")
            settings.add_origin(wrong, ctx, self)
            raise wrong from error


class Command(click.Command):
    """A command whose help page groups its flags; ``{sources}`` in its help is replaced by the types of sources."""

    def __init__(self, name: str | None, help: str | None = None, **more: Any) -> None:
        text = None if help is None else help.replace("{sources}", source_help())
        super().__init__(name, help=text, **more)
        self.params.append(_config_flag())
        for one in self.params:
            if one.type is click.STRING and (isinstance(one, click.Argument) or one.metavar in FILES):
                one.type = FileName()
        if sum(isinstance(one, click.Option) for one in self.params) > FEW:
            self.params.append(help_pages.help_all_flag(Flag))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; say which settings are not from the command line."""
        try:
            if not any(ctx.params.get(name) for name in ("quiet", "as_json", "dry_run")):
                for line in help_pages.settings_lines(settings.given_settings(ctx)):
                    click.echo(line, err=True)
            return super().invoke(ctx)
        except TwinsetError as error:
            settings.add_origins(error, ctx)
            raise

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; if the source is missing, name the flag that took it as its value."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            taken = _taken(self, words) if isinstance(error.param, click.Argument) else None
            if taken is None:
                raise
            flag, word = taken
            raise click.UsageError(
                f"missing source: {flag} took {word!r} as its value; write sources first, as in "
                f"{ctx.command_path} {word} {flag}",
                ctx,
            ) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the flags, grouped by heading: all of them, or the common ones and the names of the others."""
        help_pages.write_flags(self.get_params(ctx), ctx, formatter, SHOW)


def _config_flag() -> Flag:
    def read(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if not ctx.resilient_parsing:
            settings.read_settings(ctx, value)

    help = (
        f"File of settings: tables of flags and their values. [default: {settings.FILE} in this folder, if it exists]"
    )
    return Flag(["--config"], metavar="FILE", help=help, is_eager=True, expose_value=False, callback=read, common=False)


def typed(name: str) -> bool:
    """Whether an option was given on the command line, not by a setting."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _taken(command: click.Command, words: list[str]) -> tuple[str, str] | None:
    """Return a flag with an optional value, and the word after it."""
    bare = {name for one in command.params if isinstance(one, Flag) and one.bare for name in one.opts}
    for flag, word in pairwise(words):
        if flag in bare and not word.startswith("-"):
            return flag, word
    return None


def flags_of(options: type[Options]) -> Callable[[Decorated], Decorated]:
    """Add a flag for each option to a command."""

    def decorate(function: Decorated) -> Decorated:
        for name, spec in reversed(list(options.specs())):
            function = _flag(options, name, spec)(function)
        return function

    return decorate


def _flag(options: type[Options], name: str, spec: OptionSpec) -> Callable[[Decorated], Decorated]:
    spellings = spec.spellings(name)
    more: dict[str, Any] = {
        "group": options.group_of(name), "help": help_of(options, name, spec), "common": spec.common
    }  # fmt: skip
    if spec.check.type is bool:
        more["is_flag"] = True
    else:
        more["type"] = Value(spellings[0], spec.check)
        more["metavar"] = metavar_of(spec)
        more["multiple"] = spec.check.multiple
        if spec.bare is not None:
            more.update(is_flag=False, flag_value=spec.bare, bare=True)
    return click.option(*spellings, name, cls=Flag, **more)


def metavar_of(spec: OptionSpec) -> str | None:
    """Return the placeholder of the value for the help page."""
    return f"[{'|'.join(spec.check.choices)}]" if spec.check.choices else spec.metavar


def help_of(options: type[Options], name: str, spec: OptionSpec) -> str:
    """Return the help of an option: its purpose, what is allowed, and its default."""
    text = spec.off_help or spec.help
    if spec.check.in_help and not spec.check.choices:
        text += f" Allowed: {spec.check.brief or spec.allowed}."
    if spec.check.multiple:
        text += " May be repeated."
    default = default_of(options, name, spec)
    return f"{text} [default: {default}]" if default else text


def default_of(options: type[Options], name: str, spec: OptionSpec) -> str:
    """Return the default of an option as text; empty for switches and lists."""
    default = options.defaults()[name]
    if spec.default_text or default is None or isinstance(default, (bool, tuple)):
        return spec.default_text
    return shown_size(default) if spec.metavar == "SIZE" else str(default)


def as_flags(message: str) -> str:
    """Replace the keyword arguments in a message of the library by flags.

    Names with an underscore are replaced everywhere, others only at the beginning of the message.

    Examples
    --------
    >>> from twinset.options import PlanOptions
    >>> as_flags("keep is 'odd'; n_bands × rows_per_band is too much")
    "--keep is 'odd'; --bands × --rows is too much"
    """
    flags = {
        name: spec.spellings(name)[0]
        for options in _every(Options) for name, spec in options.specs() if not spec.off_help
    }  # fmt: skip
    message = re.sub(r"^(\w+)(?= (?:is|has|names|does|cannot) )", lambda found: flags.get(found[1], found[1]), message)
    return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", lambda found: flags.get(found[0], found[0]), message)


def _every(options: type[Options]) -> Iterator[type[Options]]:
    yield options
    for one in options.__subclasses__():
        yield from _every(one)


def given(options: type[Options], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given on the command line, without defaults."""
    arguments: dict[str, Any] = {}
    for name, spec in options.specs():
        value = values.get(name)
        if value is None or value is False or value == ():
            continue
        arguments[name] = False if spec.off_help else value
    return arguments


def output(help: str, required: bool = False) -> Callable[[Decorated], Decorated]:
    """Add the flag for the path of the output."""
    return click.option("-o", "--output", cls=Flag, metavar="PATH", required=required, help=help)


def shown(function: Decorated) -> Decorated:
    """Add the flags for JSON and tracebacks."""
    for names, more in (
        (("--debug",), {"expose_value": False, "common": False, "help": "Show the traceback of an error."}),
        (("--json", "as_json"), {"help": "Print only the summary, as JSON."}),
    ):
        function = click.option(*names, is_flag=True, cls=Flag, **more)(function)
    return function


def watched(function: Decorated) -> Decorated:
    """Add the flags of commands that show progress."""
    return click.option("--quiet", is_flag=True, cls=Flag, help="Print no progress and no summary.")(shown(function))


def running(function: Decorated) -> Decorated:
    """Add the flags of commands that show progress and have a dry run."""
    help = "Print what would be read and planned, and stop."
    return click.option("--dry-run", is_flag=True, cls=Flag, help=help)(watched(function))
