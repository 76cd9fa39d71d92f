"""How long a person waits before anything happens: help, a small comparison, the very first run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from benchmarks.corpora import generated
from benchmarks.measure import ROOT, Setting, say, time_command, twinset

UV = "uv==0.13.8"

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
        result["uvx"] = _measure_uvx(setting, folder)
    shown, cold = result["help"]["best"], result["uvx"]["best"]
    say(f"  help {shown:.3f} s, first run {compiling.best:.1f} s, by uvx {cold:.1f} s")
    return result


def _measure_uvx(setting: Setting, folder: Path) -> dict[str, Any]:
    """Measure `uvx` from a wheel to the result of the demo: with the packages cached, and nothing compiled."""
    programs = setting.venvs / "uv" / "bin"
    if not (programs / "uvx").exists():
        venv.create(programs.parent, with_pip=True)
        subprocess.run([programs / "pip", "install", "--quiet", UV], check=True)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = (folder / "dist").glob("*.whl")
    out = folder / "demo"
    command = [str(programs / "uvx"), "--from", str(wheel), "twinset"]
    packages = {"UV_CACHE_DIR": str(folder / "packages"), "UV_LINK_MODE": "copy"}
    time_command([*command, "--version"], env=packages)
    cold = time_command([*command, "demo", "-o", str(out)], env={**packages, "XDG_CACHE_HOME": str(folder / "kernels")})
    spent = json.loads((out / "summary.json").read_text())["timings"]["seconds"]
    return {**cold.to_dict(), "compile": spent["compile"]}


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
        *_uvx_goals(result.get("uvx")),
    ]


def _uvx_goals(cold: dict[str, Any] | None) -> list[tuple[str, str, str, bool]]:
    if cold is None:
        return []
    spent = f"{cold['best']:.1f} s, {cold['compile']:.1f} s of it compilation"
    reached = cold["best"] <= 60 and cold["compile"] <= 25
    return [("uvx twinset demo, packages cached", "≤ 60 s, of which compilation ≤ 25 s", spent, reached)]


def table(result: dict[str, Any]) -> str:
    rows = (
        ("twinset --help", result["help"]),
        ("twinset compare of two small files", result["compare"]),
        ("twinset dedup of 1,000 documents, first run ever (compiles)", result["first"]),
        ("the same again", result["second"]),
        *([("uvx twinset demo, packages cached, nothing compiled", result["uvx"])] if "uvx" in result else []),
    )
    lines = [f"| {name} | {one['best']:.3f} |" for name, one in rows]
    return "\n".join(["| | seconds |", "|---|---:|", *lines])
