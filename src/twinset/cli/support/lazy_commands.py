"""Groups of commands: one module per command, imported when called."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from typing import Any

import click


class Commands(click.Group):
    """The commands of a package, in the given order."""

    def __init__(self, *parameters: Any, names: tuple[str, ...] = (), package: str = "", **more: Any) -> None:
        super().__init__(*parameters, **more)
        self.names, self.package = names, package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands."""
        return list(self.names)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; suggest the closest name for an unknown one."""
        name = args[0]
        if name not in self.names and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, self.names, n=1, cutoff=0.5)
            guess = f"did you mean {near[0]!r}?" if near else f"the commands are {', '.join(self.names)}"
            raise click.UsageError(f"unknown command {name!r}; {guess}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self.names:
            return None
        file = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command = import_module(f".{file}", self.package).command
        return command if isinstance(command, click.Command) else None
