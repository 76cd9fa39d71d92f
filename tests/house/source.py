"""The source files of the package, as the house rules see them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests import components

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "twinset"
NOUNS = ("documents", "shingles", "sketches", "candidates", "pairs", "clusters")


def modules() -> list[Path]:
    """Every Python file of the package, relative to it."""
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = ("twinset", *path.with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse((PACKAGE / path).read_text("utf-8"), str(path))


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """The full names of what a module imports, wherever in it that stands; many rules ask for those of all modules."""
    return tuple(_imports_of(path))


def _imports_of(path: Path) -> Iterator[str]:
    here = name_of(path).split(".")
    folder = here if path.name == "__init__.py" else here[:-1]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(folder[: len(folder) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            # `from . import x` may import a module x; both names are given, and a rule looks at each.
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def part_of(module: str) -> str:
    """The folder or file of the package that a module of it belongs to: ``twinset.cli.plan`` → ``cli``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def parts() -> set[str]:
    """The names of all folders and files directly in the package."""
    return {path.parts[0].removesuffix(".py") for path in modules()}


def tracked() -> list[Path]:
    """Every file that is, or is about to be, in the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        components.skip_without("there is no git checkout, so what is tracked is not known")
    components.used("git checkout")
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]
