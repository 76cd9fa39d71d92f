"""The package as it is installed: built, put into an empty environment, and used outside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import components
from tests.install.build import build_sdist, build_wheel, check_sdist, check_wheel, unpacked
from twinset import __version__


@dataclass(frozen=True)
class Built:
    """The files of a version."""

    sdist: Path
    wheel: Path


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a folder outside the checkout."""

    programs: Path
    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, with an empty cache of kernels of its own."""
        names = ("PYTHONPATH", "NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
        environment = {name: value for name, value in os.environ.items() if name not in names}
        environment |= {"XDG_CACHE_HOME": str(self.folder.parent / "cache"), "COLUMNS": "100"}
        words = [self.programs / command[0], *command[1:]]
        return subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    sdist = build_sdist(folder / "dist")
    return Built(sdist, build_wheel(folder / "dist", unpacked(sdist, folder / "tree")))


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Dependencies come from the present environment; `test_the_whole_installation` gets them from their source."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder / "env", symlinks=True)
    programs = folder / "env" / "bin"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(programs / "python")]
    done = subprocess.run(
        [*command, "install", "--quiet", "--no-deps", "--no-index", str(built.wheel)], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode and "No module named pip" in done.stderr:
        components.skip_without("there is no pip, so nothing can be installed; python -m ensurepip")
    assert done.returncode == 0, done.stderr
    [packages] = (folder / "env" / "lib").glob("python*/site-packages")
    places = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (packages / "present.pth").write_text("\n".join(places))
    (folder / "outside").mkdir()
    return Installed(programs, folder / "outside")


def test_the_wheel_is_that_of_the_tree(built: Built, tmp_path: Path) -> None:
    check_sdist(built.sdist)
    check_wheel(built.wheel)
    assert built.wheel.name == f"twinset-{__version__}-py3-none-any.whl"
    assert build_wheel(tmp_path).read_bytes() == built.wheel.read_bytes(), "the source distribution lacks something"


def test_it_is_the_installed_package_that_runs(installed: Installed) -> None:
    done = installed.run("python", "-c", "import twinset; print(twinset.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(installed.programs.parent), done.stdout + done.stderr


@pytest.mark.parametrize("command", [["twinset"], ["python", "-m", "twinset"]])
def test_the_command_answers(installed: Installed, command: list[str]) -> None:
    assert installed.run(*command, "--version").stdout == f"twinset {__version__}\n"
    assert installed.run(*command, "--help").stdout.startswith("Usage: ")
    assert installed.run(*command, "nonsense").returncode == 2


def test_the_demo_runs_and_its_result_can_be_reported(installed: Installed) -> None:
    done = installed.run("twinset", "demo", "-o", "OUT")
    assert done.returncode == 0, done.stderr
    assert "Nothing is lost" in done.stdout
    done = installed.run("twinset", "report", "OUT", "-o", "report.html")
    assert done.returncode == 0, done.stderr
    assert "</html>" in (installed.folder / "report.html").read_text("utf-8")


def test_pages_and_definitions_are_part_of_it(installed: Installed) -> None:
    program = """
import importlib.resources as resources
from twinset.report.textbook_page import *
package = resources.files('twinset')
pages = [one.name for folder in ('api', 'review') for part in ('static', 'templates')
         for one in (package / 'web' / folder / part).iterdir()]
assert {'review.js', 'review.css'} <= set(pages), pages
assert (package / 'py.typed').is_file() and (package / 'unicode.txt').is_file()
import twinset.web.review.views, twinset.textbook
print('complete')
"""
    done = installed.run("python", "-c", program)
    assert done.stdout == "complete\n", done.stderr


COLD = 60
"""Seconds, at most, from nothing but cached packages to the result of the demo."""


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_the_whole_installation(built: Built, tmp_path: Path, kind: str) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    made = built.wheel if kind == "wheel" else built.sdist
    command = [programs / "pip", "install", "--quiet", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stderr or "Could not find a version" in done.stderr:
        components.skip_without(f"dependencies cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    (tmp_path / "outside").mkdir()
    whole = Installed(programs, tmp_path / "outside")
    assert "Nothing is lost" in whole.run("twinset", "demo").stdout
    for extra, command in (("web", ["serve", "x"]), ("mcp", ["mcp", "."]), ("plots", ["plan", "--plot", "x.svg"])):
        done = whole.run("twinset", *command)
        assert done.returncode == 2, command
        assert extra in done.stderr, done.stderr


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_uvx_runs_it(built: Built, tmp_path: Path) -> None:
    venv.create(tmp_path / "uv", with_pip=True)
    programs = tmp_path / "uv" / "bin"
    done = subprocess.run([programs / "pip", "install", "--quiet", "uv"], capture_output=True, text=True, check=False)
    if done.returncode:
        components.skip_without(f"there is no uv: {done.stderr.strip().splitlines()[-1]}; pip install uv")
    (tmp_path / "outside").mkdir()
    environment = Installed(programs, tmp_path / "outside")
    done = environment.run("uvx", "--from", str(built.wheel), "twinset", "demo", "--json")
    assert done.returncode == 0, done.stderr
    assert '"removed"' in done.stdout
    named = environment.run("uvx", "--from", f"twinset[mcp] @ {built.wheel.as_uri()}", "twinset", "mcp", "nowhere")
    assert "nowhere is not a folder" in named.stderr
