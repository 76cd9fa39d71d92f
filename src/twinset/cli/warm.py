"""``twinset warm``: compile all kernels ahead of the first run."""

from __future__ import annotations

import time

import click

from twinset.cli.screen import show
from twinset.cli.support import flags, run


@click.command("warm", cls=flags.Command, short_help="Compile everything ahead of the first run.")
@flags.watched
def command(quiet: bool, as_json: bool) -> None:
    """Compile everything ahead of the first run, so that no run waits for the compiler.

    Use it when you build a container image, in continuous integration, and on each worker of a cluster. The compiled
    code is kept in NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache. It is valid for this processor, this Python and this
    version of Twinset.
    """
    begun = time.perf_counter()
    with run.watched(quiet, "jobs.warm", compiling="30 to 60") as progress:
        import twinset
        from twinset.compiled.cache import cache_folder

        compiled = twinset.warm(progress)
    seconds, folder = round(time.perf_counter() - begun, 1), str(cache_folder())
    if as_json:
        show.as_json({"compiled": compiled, "seconds": seconds, "folder": folder})
    elif quiet:
        pass
    elif compiled:
        click.echo(f"{show.count(compiled, 'kernel')} compiled in {seconds} s, kept in {folder}")
    else:
        click.echo(f"nothing to do: all kernels are compiled, in {folder}")
