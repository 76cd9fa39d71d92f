"""Read a Dockerfile: its stages, and their instructions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Instruction:
    """One instruction, such as RUN, and what follows it in one line."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """The words of an instruction in JSON form; HEALTHCHECK has its own after CMD."""
        found: list[str] = json.loads(self.text[self.text.index("[") :])
        return found


def stages(path: Path) -> dict[str, list[Instruction]]:
    """The instructions of each stage, by its name; the first of each is FROM."""
    text = "\n".join(line for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    found: dict[str, list[Instruction]] = {}
    name = ""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if not line.strip():
            continue
        one = Instruction(*line.split(" ", 1))
        if one.name == "FROM":
            name = one.text.partition(" AS ")[2]
        found.setdefault(name, []).append(one)
    return found
