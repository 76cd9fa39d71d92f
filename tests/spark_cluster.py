"""A real Spark for the tests: a session in this process, a cluster of processes, or a server of Spark Connect.

All of it is in the pyspark package; a Java is looked for, and installed where that is possible. Every process listens
on 127.0.0.1 at a port of its own choice and writes into a folder of its own, so that any number of runs are beside
each other.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import components

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("openjdk-17-jre-headless",)
LEAST_JAVA = 17
# The first compiler only: these processes live for seconds. Without the last they would leave files in /tmp.
JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "3",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "true",
}
_SECONDS = 180


@cache
def java() -> Path | None:
    """The first Java that is new enough: of JAVA_HOME, on the PATH, or where Debian keeps them beside it."""
    home = os.environ.get("JAVA_HOME")
    places = [Path(home) / "bin"] if home else []
    for text in os.environ.get("PATH", "").split(os.pathsep):
        place = Path(text)
        kept = sorted(glob.glob(str(place.parent / "lib" / "jvm" / "*" / "bin")))
        places += [place, *map(Path, kept)]
    for place in places:
        program = place / "java"
        if os.access(program, os.X_OK) and _version(program) >= LEAST_JAVA:
            return program.resolve()
    return None


def _version(program: Path) -> int:
    done = subprocess.run([program, "-XX:-UsePerfData", "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else 0


def _has_java() -> bool:
    java.cache_clear()
    return java() is not None


def missing() -> str:
    """Why Spark cannot be started here, after having tried to install a Java; empty if it can."""
    if find_spec("pyspark") is None:
        return "there is no pyspark: pip install 'twinset[spark]'"
    return components.missing(f"Java {LEAST_JAVA} or newer", _has_java, PACKAGES)


def pyspark_folder() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _scala() -> str:
    [core] = (pyspark_folder() / "jars").glob("spark-core_*.jar")
    return core.name.removeprefix("spark-core_").partition("-")[0]


def note_use(what: str) -> None:
    """Name the versions in the last lines of the run."""
    import pyspark

    found = java()
    assert found is not None
    components.used(f"Spark {pyspark.__version__} ({what})")
    components.used(f"Java {_version(found)}")


@contextmanager
def folder_of_its_own() -> Iterator[Path]:
    """A folder for all that processes of Spark write; it goes when they have ended."""
    folder = Path(tempfile.mkdtemp(prefix="twinset-spark-"))
    try:
        (folder / "no-configuration").mkdir()
        yield folder
    finally:
        shutil.rmtree(folder)


def environment(folder: Path) -> dict[str, str]:
    """The variables of a process of Spark: nothing of this machine's own configuration, all files in the folder."""
    program = java()
    assert program is not None
    options = " ".join((*JVM, f"-Djava.io.tmpdir={folder}"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return {
        **kept,
        "JAVA_HOME": str(program.parents[1]),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(folder / "no-configuration"),
        "SPARK_HOME": str(pyspark_folder()),
        "SPARK_LAUNCHER_OPTS": " ".join(JVM),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": _scala(),  # which workers look for where Spark is built, unless they are told
        "SPARK_SUBMIT_OPTS": options,
    }


def settings_in(folder: Path) -> dict[str, str]:
    """The settings of a session whose files are in a folder."""
    return {
        **SETTINGS,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.executor.extraJavaOptions": " ".join((*JVM, f"-Djava.io.tmpdir={folder}")),
        "spark.executor.memory": "768m",
    }


@contextmanager
def local_session(**settings: str) -> Iterator[SparkSession]:
    """A session in this process, with two threads; its Java ends with it."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with folder_of_its_own() as folder:
        before = dict(os.environ)
        os.environ.update(environment(folder))
        try:
            builder = SparkSession.builder.master("local[2]").appName("tests")
            for name, value in {**settings_in(folder), "spark.driver.memory": "2g", **settings}.items():
                builder = builder.config(name, value)
            session = builder.getOrCreate()
        finally:
            os.environ.clear()
            os.environ.update(before)
        session.sparkContext.setLogLevel("ERROR")
        note_use("local")
        try:
            yield session
        finally:
            session.stop()
            gateway = SparkContext._gateway
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(_SECONDS)
            SparkContext._gateway = SparkContext._jvm = None


class Daemon:
    """A process of Spark, in good order once it has said a certain line; it ends with the thread that started it."""

    def __init__(self, folder: Path, name: str, words: list[str], said: str, **variables: str) -> None:
        self.folder, self._name, self._said = folder, name, said
        setpriv = shutil.which("setpriv")
        self._command = [*([setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []), *words]
        self._variables = {**environment(folder), **variables}
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""
        self.start()

    @property
    def log(self) -> str:
        """All that it has said since it was started last."""
        with suppress(FileNotFoundError):
            return (self.folder / f"{self._name}.log").read_text("utf-8", "replace")
        return ""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait for what it says when it is ready."""
        with (self.folder / f"{self._name}.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=self._variables
            )
        end = time.monotonic() + _SECONDS
        while not (found := re.search(self._said, self.log)):
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self._name} of Spark did not start:\n{self.log[-3000:]}")
            time.sleep(0.02)
        self.address = found[1]

    def kill(self) -> None:
        """Kill it with -9, and all that it has started."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGSTOP)  # so that it starts nothing more
        for one in (*descendants(self.pid), self.pid):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Stop it in good order, or kill it if it does not end."""
        if self._process is None:
            return
        started = descendants(self.pid)
        self._process.terminate()
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        wait_for_the_end_of(started)
        self._process = None


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    parents: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = status.read_text("utf-8", "replace").rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found = parents.get(pid, [])
    for one in found:
        found += parents.get(one, [])
    return found


def wait_for_the_end_of(pids: list[int]) -> None:
    """Wait for processes that are not ours to end, and kill those that do not."""
    end = time.monotonic() + 20
    for pid in pids:
        while Path(f"/proc/{pid}").exists() and not _is_dead(pid):
            if time.monotonic() > end:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)


def _is_dead(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] in ("Z", "X")
    return True


class Cluster:
    """A standalone cluster: a master and workers, each a process, of one core each."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self._everything: list[Daemon] = []
        self.workers: list[Daemon] = []
        try:
            self._master = self._started("master", r"Starting Spark master at (spark://\S+)", "master.Master")
            self.address = self._master.address
            for number in range(workers):
                words = ("worker.Worker", "--cores", "1", "--memory", "1g")
                place = ("--work-dir", str(folder / f"work-{number}"), self.address)
                said = r"Successfully registered with master (spark://\S+)"
                worker = self._started(f"worker-{number}", said, *words, *place)
                self.workers.append(worker)
        except BaseException:
            self.close()
            raise
        note_use("standalone cluster")

    def _started(self, name: str, said: str, kind: str, *words: str) -> Daemon:
        options = (*JVM, "-Xmx256m", f"-Djava.io.tmpdir={self.folder}", "-Dspark.master.rest.enabled=false")
        command = [str(java()), *options, "-cp", f"{pyspark_folder()}/jars/*", f"org.apache.spark.deploy.{kind}"]
        ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        daemon = Daemon(self.folder, name, [*command, *ports, *words], said)
        self._everything.append(daemon)
        return daemon

    def close(self) -> None:
        while self._everything:
            self._everything.pop().stop()


@contextmanager
def cluster(workers: int = 2) -> Iterator[Cluster]:
    """A cluster for as long as the context lasts."""
    with folder_of_its_own() as folder:
        made = Cluster(folder, workers)
        try:
            yield made
        finally:
            made.close()


@contextmanager
def connect_server() -> Iterator[str]:
    """The address of a server of Spark Connect, with two threads."""
    with folder_of_its_own() as folder:
        settings = {
            **settings_in(folder),
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
        }
        words = [str(pyspark_folder() / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "2g"]
        words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
        words += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        said = r"Spark Connect server started at: (127\.0\.0\.1:\d+)"
        server = Daemon(folder, "connect", [*words, "spark-internal"], said)
        note_use("Spark Connect")
        try:
            yield f"sc://{server.address}"
        finally:
            server.stop()


class Driver:
    """The driver of a cluster, or the client of a server: a process that does one job after the other.

    What it is asked, and what it answers, are lines of JSON: see `tests/spark_driver.py`.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None, **place: str) -> None:
        command = [sys.executable, "-m", "tests.spark_driver"]
        self._log = (folder / "driver.log").open("wb")
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._log, text=True, encoding="utf-8",
        )  # fmt: skip
        self.folder = folder
        self.say({"settings": {**settings_in(folder), **(settings or {})}, **place})
        if self.hear() != {"ready": True}:
            self.close()
            raise RuntimeError(f"the driver did not start:\n{(folder / 'driver.log').read_text('utf-8')[-3000:]}")

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def say(self, what: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next line; an empty answer if the process has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {}
        return found

    def begin(self, job: str, source: Path, output: Path, harm: dict[str, Any] | None = None, **options: Any) -> None:
        """Ask for a job over Parquet files, without waiting for it; `harm` is what is to go wrong."""
        self.say({"job": job, "source": str(source), "output": str(output), "options": options, **(harm or {})})

    def events(self) -> Iterator[dict[str, Any]]:
        """What happens until the job has ended; the last one has `summary`, `error` or `stopped`."""
        while event := self.hear():
            yield event
            if event.keys() & {"summary", "error", "stopped"}:
                return

    def run(self, job: str, source: Path, output: Path, **options: Any) -> dict[str, Any]:
        """Do a job, and return how it ended."""
        self.begin(job, source, output, **options)
        *_, last = self.events()
        return last

    def close(self) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        started = descendants(self.process.pid)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:  # it waits for a job that does not end
            self.process.kill()
            self.process.wait()
        wait_for_the_end_of(started)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()
