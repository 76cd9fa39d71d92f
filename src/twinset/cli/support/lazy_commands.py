"""Groups of commands: one command a file, each imported when it is called."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from typing import Any

import click


class Commands(click.Group):
    """The commands of a package, in the order in which a newcomer meets them."""

    def __init__(self, *words: Any, names: tuple[str, ...] = (), package: str = "", **more: Any) -> None:
        super().__init__(*words, **more)
        self.names, self.package = names, package

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        return list(self.names)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was called; guess what was meant if there is none of that name."""
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
