"""What the project says of itself: citation, changelog and container agree with the package."""

from __future__ import annotations

import re
import subprocess
import tomllib
import venv
from pathlib import Path

import pytest
import yaml

import twinset
from tests import components
from tests.house.source import ROOT


def project() -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert (cited["title"], cited["type"], cited["version"]) == ("Twinset", "software", twinset.__version__)
    assert cited["license"] == project()["license"] == "MIT"
    assert [one["name"] for one in cited["authors"]] == [one["name"] for one in project()["authors"]]  # type: ignore[attr-defined]
    assert cited["message"]
    known = {
        *("cff-version", "message", "type", "title", "abstract", "version", "authors", "license", "keywords"),
        *("date-released", "doi", "url", "repository-code", "identifiers", "contact", "references"),
    }
    assert set(cited) <= known


def test_the_changelog_has_an_entry_for_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert heads[1].split(" ")[0] == twinset.__version__
    assert heads[1:] == sorted(heads[1:], key=lambda one: tuple(map(int, one.split(" ")[0].split("."))), reverse=True)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+( \(\d{4}-\d\d-\d\d\))?", one) for one in heads[1:])


@pytest.mark.parametrize("page", ["README.md", "docs/install.md", "docs/agents.md", "docs/serve.md"])
def test_extras_that_pages_name_exist(page: str) -> None:
    extras = set(project()["optional-dependencies"])  # type: ignore[call-overload]
    for named in re.findall(r"twinset\[([\w,]+)\]", (ROOT / page).read_text("utf-8")):
        assert set(named.split(",")) <= extras, named


def test_supported_versions_of_python_are_the_same_everywhere() -> None:
    classified = {
        one.rpartition(" ")[2] for one in project()["classifiers"] if re.search(r":: 3\.\d+$", one)  # type: ignore[attr-defined]
    }
    least = min(classified, key=lambda one: int(one.partition(".")[2]))
    assert project()["requires-python"] == f">={least}"
    assert f"Python {least}" in (ROOT / "docs" / "install.md").read_text("utf-8")
    assert Path(ROOT / "src/twinset/py.typed").exists()


@pytest.mark.soak
def test_a_validator_accepts_the_citation(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    done = subprocess.run([programs / "pip", "install", "--quiet", "cffconvert"], capture_output=True, check=False)
    if done.returncode:
        components.skip_without("there is no cffconvert; pip install cffconvert")
    command = [programs / "cffconvert", "--validate", "-i", ROOT / "CITATION.cff"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
