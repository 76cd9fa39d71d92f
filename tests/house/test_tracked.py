"""What the repository must not hold."""

from __future__ import annotations

import re

from .source import ROOT, tracked

# Written in pieces, so that this file does not hold what it looks for.
FORBIDDEN = {
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE " + "KEY",
    "an access key": r"\b(AKIA|ASIA)[0-9A-Z]{16}\b",
    "a token": r"\b(gh[pousr]_[A-Za-z0-9]{30,}|xox[abp]-[A-Za-z0-9-]{20,}|pypi-[A-Za-z0-9_-]{40,})",
    "a password": r"(?i)\b(password|passwd|secret_key|api_key)\s*[:=]\s*[\"'][^\"'<{$]{6,}[\"']",
    "a path of one machine": r"(?<![\w./])/(home|Users|root|" + r"work)/[\w.-]+",
    "the address of a package registry": r"https?://[\w.-]*(pypi\.org/simple|pythonhosted|registry\.npm|artifact)"
    r"|--(extra-)?index-" + "url",
}


def test_no_secrets_machine_paths_or_registry_addresses() -> None:
    for path in tracked():
        text = path.read_bytes().decode("utf-8", "replace")
        for what, pattern in FORBIDDEN.items():
            found = re.search(pattern, text)
            assert not found, f"{path.relative_to(ROOT)} holds {what}: {found and found[0]}"


def test_the_lock_holds_names_and_versions_only() -> None:
    for line in (ROOT / "requirements.lock").read_text("utf-8").splitlines():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", line), line


def test_every_dependency_is_locked() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    locked = {line.split("==")[0].lower() for line in (ROOT / "requirements.lock").read_text().splitlines()}
    wanted = {name.lower() for name in re.findall(r'"([A-Za-z0-9_-]+)>=', project)} - {"setuptools"}
    assert wanted <= locked


def test_no_large_files() -> None:
    for path in tracked():
        assert path.stat().st_size < 2_000_000, path.relative_to(ROOT)
