"""``twinset.warm``: compile all kernels ahead of the first run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import twinset
from twinset.compiled.cache import cache_folder
from twinset.engines.progress import Progress, Silent
from twinset.errors import OutputError
from twinset.system.compile_time import compiled_kernels


def warm(progress: Progress | None = None) -> int:
    """Compile every kernel that is not compiled yet, so that no run waits for the compiler.

    For images of containers, continuous integration and the workers of a cluster. Kernels are cached in
    ``NUMBA_CACHE_DIR``, ``XDG_CACHE_HOME`` or ``~/.cache``, for this processor and these versions.

    Parameters
    ----------
    progress
        Receives the progress.

    Returns
    -------
    int
        The number of kernels that were compiled; 0 if all were cached.

    Examples
    --------
    >>> import twinset
    >>> again = twinset.warm() and twinset.warm()
    >>> again
    0
    """
    if cache_folder() is None:
        raise OutputError("compiled kernels cannot be cached, so compiling them now is useless; the warning says why")
    reporter, before = progress or Silent(), compiled_kernels()
    names = kernel_modules()
    reporter.stage("compiling", len(names), "files")
    for name in names:
        import_module(name)
        reporter.advance(1)
    return compiled_kernels() - before


def kernel_modules() -> list[str]:
    """Return the names of all modules of kernels."""
    package = Path(twinset.__file__).parent
    files = sorted(path.relative_to(package).with_suffix("") for path in package.rglob("*kernels.py"))
    return [".".join(("twinset", *path.parts)) for path in files]
