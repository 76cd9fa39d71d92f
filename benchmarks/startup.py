"""How long a person waits before anything happens: help, a small comparison, the very first run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.corpora import generated
from benchmarks.measure import Setting, say, time_command, twinset

LEFT = "The quick brown fox jumps over the lazy dog, and then it runs away into the dark and quiet forest.\n"
RIGHT = "The quick brown fox jumps over the lazy cat, and then it runs away into the dark and quiet forest.\n"


def measure(setting: Setting) -> dict[str, Any]:
    small = generated(setting, 1_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "left.txt").write_text(LEFT)
        (folder / "right.txt").write_text(RIGHT)
        compare = [twinset(), "compare", str(folder / "left.txt"), str(folder / "right.txt")]
        words = ["--threshold", "0.8", "-o", str(folder / "out"), "--force"]
        first = [twinset(), "dedup", str(small), *words]
        fresh = {"XDG_CACHE_HOME": str(folder / "cache"), "NUMBA_CACHE_DIR": ""}
        compiling = time_command(first, env=fresh)
        compiled = time_command(first, setting.repeat, env=fresh)
        time_command(compare)
        result: dict[str, Any] = {
            "help": time_command([twinset(), "--help"], setting.repeat + 2).to_dict(),
            "compare": time_command(compare, setting.repeat).to_dict(),
            "first": compiling.to_dict(),
            "second": compiled.to_dict(),
            "announced": "compil" in compiling.errors.lower() and "compil" not in compiled.errors.lower(),
        }
    say(f"  help {result['help']['best']:.3f} s, first run {compiling.best:.1f} s")
    return result


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    shown, compared = result["help"]["best"], result["compare"]["best"]
    compiling = result["first"]["best"] - result["second"]["best"]
    said = "announced" if result["announced"] else "not announced"
    return [
        ("twinset --help", "< 0.3 s", f"{shown:.3f} s", shown < 0.3),
        ("twinset compare of two small files", "< 1.5 s", f"{compared:.2f} s", compared < 1.5),
        (
            "compilation at the first run ever",
            "< 30 s, announced",
            f"{compiling:.1f} s, {said}",
            compiling < 30 and result["announced"],
        ),
    ]


def table(result: dict[str, Any]) -> str:
    rows = (
        ("twinset --help", result["help"]),
        ("twinset compare of two small files", result["compare"]),
        ("twinset dedup of 1,000 documents, first run ever (compiles)", result["first"]),
        ("the same again", result["second"]),
    )
    lines = [f"| {name} | {one['best']:.3f} |" for name, one in rows]
    return "\n".join(["| | seconds |", "|---|---:|", *lines])
