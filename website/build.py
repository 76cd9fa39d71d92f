"""Stage the pages, have Zensical build them, and put the site in its place."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from website import llms
from website.navigation import HOME, Section, place_of
from website.stage import Stage, copy_assets

HERE = Path(__file__).resolve().parent
_NAVIGATION = "nav = []"
_MISSING = "404.html"
"""The page for addresses without one; the generator's loads its styles from the root of the server only."""
_MARK = "llms.txt"
"""A file that only a built site has."""


class BuildError(Exception):
    """The generator refuses the pages, or the folder is not one to replace."""


def build(root: Path, folder: Path) -> int:
    """Build the site of a repository into a folder, where it replaces an earlier one; return the number of pages."""
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).is_file():
        raise BuildError(f"{folder} is not empty, and not a site built earlier; name another folder")
    with tempfile.TemporaryDirectory(prefix="twinset-site-") as work:
        project = Path(work)
        pages = project / "pages"
        stage = Stage(root, pages)
        number = stage.fill()
        copy_assets(HERE, pages)
        settings = (HERE / "zensical.toml").read_text("utf-8")
        (project / "zensical.toml").write_text(settings.replace(_NAVIGATION, f"nav = {_nav(stage.sections)}"), "utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(project / "zensical.toml")]
        plain = {**os.environ, "NO_COLOR": "1"}
        done = subprocess.run(command, cwd=project, env=plain, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(f"Zensical refuses the pages:\n{done.stdout}{done.stderr}")
        llms.write(stage.sections, pages, project / "site")
        shutil.copyfile(HERE / _MISSING, project / "site" / _MISSING)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
        shutil.copytree(project / "site", folder)
    return number


def _nav(sections: tuple[Section, ...]) -> str:
    """Return the navigation as the generator reads it: TOML, in which strings are those of JSON."""

    def entry(title: str, place: object) -> str:
        return f"{{ {json.dumps(title)} = {json.dumps(str(place))} }}"

    parts = [entry("Twinset", place_of(HOME))]
    for section in sections:
        pages = ", ".join(entry(page.title, page.place) for page in section.pages)
        parts.append(f"{{ {json.dumps(section.title)} = [ {pages} ] }}")
    return "[" + ",\n  ".join(parts) + "]"
