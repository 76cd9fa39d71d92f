"""The cache folder is the user's alone, or it is not used."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from twinset.clusters import group_kernels
from twinset.compiled import cache

NAMES = ("HOME", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")


def opened(**settings: str | Path) -> tuple[str, list[str]]:
    """The folder that a process uses that starts with these settings, and what it is warned of."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in NAMES:
            patch.delenv(name, raising=False)
        for name, value in settings.items():
            patch.setenv(name, str(value))
        patch.setattr(cache, "_warned", False)
        patch.setattr(cache, "cache_folder", cache.cache_folder.__wrapped__)  # not what this process found before
        found = cache.open_cache.__wrapped__(Path(group_kernels.__file__))
    return str(found and found.folder), [f"{one.category.__name__} {one.message}" for one in caught]


def is_private(folder: Path) -> bool:
    about = os.lstat(folder)
    return stat.S_ISDIR(about.st_mode) and stat.S_IMODE(about.st_mode) == 0o700 and about.st_uid == os.geteuid()


@pytest.mark.parametrize("name", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_folder_that_was_named_is_used_and_what_is_made_is_private(tmp_path: Path, name: str) -> None:
    folder, warned = opened(HOME=tmp_path / "home", **{name: tmp_path / "new" / "cache"})
    assert Path(folder).parent == tmp_path / "new" / "cache" / "twinset-kernels"
    assert all(is_private(one) for one in (Path(folder), *list(Path(folder).parents)[:3]))
    assert warned == []
    assert not (tmp_path / "home").exists()


def test_otherwise_the_home_folder_is_used(tmp_path: Path) -> None:
    folder, warned = opened(HOME=tmp_path, NUMBA_CACHE_DIR="", XDG_CACHE_HOME="")
    assert (Path(folder).parent, warned) == (tmp_path / ".cache" / "twinset-kernels", [])
    assert is_private(tmp_path / ".cache")


def test_a_home_of_no_name_is_the_one_of_the_user(tmp_path: Path) -> None:
    """HOME is unset in some containers and cron jobs; it is never the root of the file system."""
    import pwd

    folder, warned = opened(HOME="", NUMBA_CACHE_DIR="")
    home = os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir)
    if warned:
        assert folder == "None"
    else:
        assert Path(folder).parent == Path(home) / ".cache" / "twinset-kernels"


def refused(base: Path, reason: str) -> None:
    folder, warned = opened(NUMBA_CACHE_DIR=base)
    assert folder == "None"
    assert len(warned) == 1, warned
    assert warned[0].startswith("CacheWarning compiled kernels are not cached")
    assert str(base) in warned[0]
    assert reason in warned[0]
    assert "NUMBA_CACHE_DIR" in warned[0]


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o1777])
@pytest.mark.parametrize("inner", [False, True])
def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path, mode: int, inner: bool) -> None:
    folder = Path(opened(NUMBA_CACHE_DIR=tmp_path)[0])
    os.chmod(folder if inner else folder.parent, mode)
    refused(tmp_path, f"mode {mode:04o}, not 0700")


@pytest.mark.parametrize("inner", [False, True])
def test_a_link_is_refused(tmp_path: Path, inner: bool) -> None:
    """What is behind it may be replaced by whoever owns the link's target."""
    folder = Path(opened(NUMBA_CACHE_DIR=tmp_path)[0])
    folder = folder if inner else folder.parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    refused(tmp_path, "a link or a file")


def test_a_home_behind_a_link_is_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "real")
    folder, warned = opened(HOME=tmp_path / "home")
    assert (Path(folder).parent, warned) == (tmp_path / "real" / ".cache" / "twinset-kernels", [])


@pytest.mark.parametrize("inner", [False, True])
def test_a_folder_of_another_user_is_refused(tmp_path: Path, inner: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(opened(NUMBA_CACHE_DIR=tmp_path)[0])
    if os.geteuid() == 0:  # only root can give a folder away
        os.chown(folder if inner else folder.parent, 65534, -1)
        refused(tmp_path, "belongs to another user")
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(OSError, match="belongs to another user"):
            cache._make_private(folder if inner else folder.parent)


def test_a_folder_that_every_user_may_replace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    refused(tmp_path / "open", "is writable by all")
    (tmp_path / "open").chmod(0o1777)  # as the temporary folder is: who is not its owner cannot replace what is there
    assert opened(NUMBA_CACHE_DIR=tmp_path / "open")[1] == []


@pytest.mark.parametrize("home", ["/dev/null", "/proc"])
def test_a_home_in_which_no_folder_can_be_made_is_named(home: str) -> None:
    folder, warned = opened(HOME=home)
    assert folder == "None"
    assert len(warned) == 1
    assert f"{home}/.cache/twinset-kernels: " in warned[0]


def test_a_command_without_a_cache_works_and_says_so(tmp_path: Path) -> None:
    words = ["-m", "twinset", "compare", "--string", "a b c d", "--string", "a b c e", "--json"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": "/dev/null"}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: compiled kernels are not cached") == 1
    assert "Traceback" not in done.stderr
