"""A real PostgreSQL server for the tests: one by URL, or Debian's, run in a temporary folder and killed if need be.

``TWINSET_TEST_POSTGRES`` names a server by URL; tests make their own databases there and drop them. Without it the
binaries are looked for, and installed where that is possible. The server listens on a socket in its own folder and
nowhere else, so that any number of them run beside each other and beside one that is already there.
"""

from __future__ import annotations

import ctypes
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from tests import components

GIVEN = os.environ.get("TWINSET_TEST_POSTGRES", "")
PACKAGES = ("postgresql",)
PROGRAMS = ("initdb", "postgres")
# Whoever runs the tests as root lends the server one of these: PostgreSQL refuses to run as root.
USERS = ("postgres", "nobody")
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "fsync": "on",  # the default, and what the tests are about: a committed row outlives the server
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # In the folder and not in /dev/shm, where a killed server would leave it.
    "dynamic_shared_memory_type": "mmap",
    "shared_buffers": "64MB",
    "max_connections": "50",
    "log_min_messages": "warning",
}
_LONGEST_SOCKET = 100  # the system's limit is 107 bytes; the name of the socket is included
_CHILD_SUBREAPER = 36  # Linux, prctl(2)
_REMOVE = 0  # IPC_RMID of shmctl(2)


def binaries() -> Path | None:
    """The folder with the server's programs, the newest version first: on the PATH, or where Debian keeps them."""
    for place in os.environ.get("PATH", "").split(os.pathsep):
        # Debian keeps them off the PATH, in /usr/lib/postgresql/15/bin beside /usr/bin.
        # (glob.glob passes over what may not be read, as on a PATH that was root's.)
        versions = [Path(path) for path in glob.glob(str(Path(place).parent / "lib" / "postgresql" / "*" / "bin"))]
        versions.sort(key=lambda path: [int(part) for part in path.parent.name.split(".") if part.isdigit()])
        for folder in (*reversed(versions), Path(place)):
            if all(os.access(folder / program, os.X_OK) for program in PROGRAMS):
                return (folder / "postgres").resolve().parent
    return None


def missing() -> str:
    """Why no server can be started here, after having tried to install Debian's; empty if one can."""
    return components.missing("PostgreSQL server", lambda: binaries() is not None, PACKAGES)


class GivenServer:
    """A server that somebody else runs: databases are made and dropped, nothing else is touched."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made: list[str] = []

    def __enter__(self) -> GivenServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def url(self, database: str) -> str:
        """The URL of a database of this server."""
        place, mark, words = self._url.partition("?")
        scheme, _, rest = place.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}/{quote(database, safe='')}{mark}{words}"

    def new_database(self, options: str = "") -> str:
        """Make an empty database; `options` are those of CREATE DATABASE. Its URL."""
        name = f"twinset-test-{uuid.uuid4().hex}"
        self._run("CREATE DATABASE {} " + options, name)
        self._made.append(name)
        return self.url(name)

    @contextmanager
    def database(self, options: str = "") -> Iterator[str]:
        """An empty database for as long as the context lasts; whoever still uses it then is thrown out."""
        url = self.new_database(options)
        try:
            yield url
        finally:
            name = url.partition("?")[0].rpartition("/")[2]
            self._made.remove(name)
            self._drop(name)

    def close(self) -> None:
        """Drop the databases that were made here, whoever still uses them."""
        while self._made:
            self._drop(self._made.pop())

    def _drop(self, name: str) -> None:
        self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def _run(self, statement: Any, name: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))


class Server(GivenServer):
    """A server of our own, as a context: started, stopped, killed and started again as often as wished.

    It ends with the thread that started it, however that ends: a killed run of the tests leaves no server behind.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        why = missing()
        if why:
            raise RuntimeError(why)
        self._binaries = binaries() or Path()
        self._user = _user()
        self._folder = _folder(self._user)
        self._process: subprocess.Popen[bytes] | None = None
        super().__init__(f"postgresql://postgres@/postgres?host={quote(str(self._folder), safe='')}")
        try:
            # Not synced: what may be lost by that, a power failure, loses the folder too.
            words = ("--no-sync", "--data-checksums", "--encoding=UTF8", "--locale=C", "--auth=trust")
            self._call("initdb", "--username=postgres", *words, "--pgdata", str(self.data))
            chosen = {**SETTINGS, "unix_socket_directories": str(self._folder), **(settings or {})}
            with (self.data / "postgresql.conf").open("a") as file:
                file.writelines(f"{name} = '{value}'\n" for name, value in chosen.items())
            self.start()
        except BaseException:
            self.close()
            raise
        components.used(f"PostgreSQL {_version(self._url)}")

    def __enter__(self) -> Server:
        return self

    @property
    def data(self) -> Path:
        """The folder that holds the server's files."""
        return self._folder / "data"

    @property
    def log(self) -> str:
        """All that the server has said."""
        with suppress(FileNotFoundError):
            return (self._folder / "log").read_text("utf-8", "replace")
        return ""

    def start(self, seconds: float = 120) -> None:
        """Start it, and wait until it answers: after a crash that is when it has recovered."""
        if self._process:
            raise RuntimeError("the server is running already")
        # If this thread dies, the server is told to end at once.
        setpriv = shutil.which("setpriv")
        leash = [setpriv, "--pdeathsig", "QUIT", "--"] if setpriv else []
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*leash, str(self._binaries / "postgres"), "-D", str(self.data)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder, **self._as_user(),
            )  # fmt: skip
        end = time.monotonic() + seconds
        while True:
            try:
                psycopg.connect(self._url, connect_timeout=10).close()
                return
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"PostgreSQL did not start: {error}\n{self.log[-3000:]}") from None
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop it in good order: sessions are ended, everything is written."""
        if not self._process:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(120)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """Kill the server and every process of it with -9, all at once: a crash."""
        if not self._process:
            raise RuntimeError("the server is not running")
        pid = self._process.pid
        with _adopting():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)  # so that it starts no process more, and cleans up after none
            children = _children(pid)
            for one in (*children, pid):
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            self._process.wait()
            for one in children:
                with suppress(ChildProcessError):
                    os.waitpid(one, 0)
        self._process = None
        # They are dead for certain, but by now their numbers may belong to others, for whose sake it would not start.
        self._forget_memory()
        for name in (self.data / "postmaster.pid", self._folder / ".s.PGSQL.5432.lock"):
            name.unlink(missing_ok=True)

    def close(self) -> None:
        """Stop it, whatever state it is in, and remove all that it wrote."""
        self._made.clear()
        try:
            self.stop()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _forget_memory(self) -> None:
        """Remove the small piece of shared memory by which a server knows that another has its folder."""
        with suppress(FileNotFoundError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            if len(lines) > 6:
                ctypes.CDLL(None).shmctl(int(lines[6].split()[1]), _REMOVE, None)

    def _call(self, program: str, *words: str) -> None:
        command = [str(self._binaries / program), *words]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, check=False, **self._as_user())
        if done.returncode:
            raise RuntimeError(f"{program} failed: {(done.stdout + done.stderr).decode('utf-8', 'replace')}")

    def _as_user(self) -> dict[str, Any]:
        """How a process is started so that it is not root, and is not led astray by variables meant for others."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        found: dict[str, Any] = {"env": {**kept, "LC_ALL": "C", "TZ": "UTC"}}
        if self._user:
            found |= {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        return found


def _user() -> pwd.struct_passwd | None:
    """Whose processes the server's are: ours, unless we are root."""
    if os.geteuid() != 0:
        return None
    for name in USERS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError(f"there is no user {' or '.join(USERS)} to run PostgreSQL as, and it refuses to run as root")


def _folder(user: pwd.struct_passwd | None) -> Path:
    """A new folder for the server, with a name short enough for a socket, in a place that its user can reach."""
    tried = []
    for place in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp")):
        folder = Path(tempfile.mkdtemp(prefix="twinset-pg-", dir=place))
        identity: dict[str, Any] = {}
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
            identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        reached = subprocess.run(["test", "-w", str(folder)], check=False, **identity).returncode == 0
        if reached and len(os.fsencode(folder / ".s.PGSQL.5432.lock")) <= _LONGEST_SOCKET:
            return folder
        folder.rmdir()
        tried.append(place)
    raise RuntimeError(f"no folder for PostgreSQL: {tried} are out of reach of {user and user.pw_name}, or too long")


def _children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # "pid (name) state parent …", and a name may hold spaces and brackets
            if int(status.read_text("utf-8", "replace").rpartition(")")[2].split()[1]) == pid:
                found.append(int(status.parent.name))
    return found


@contextmanager
def _adopting() -> Iterator[None]:
    """Be the one to whom orphaned grandchildren are handed, so that their end can be waited for."""
    system = ctypes.CDLL(None)
    system.prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        system.prctl(_CHILD_SUBREAPER, 0, 0, 0, 0)


def _version(url: str) -> str:
    with psycopg.connect(url) as connection:
        return str(connection.execute("SHOW server_version").fetchone()[0])  # type: ignore[index]


def shared() -> GivenServer:
    """The server that tests share: the one given, or one of our own."""
    if not GIVEN:
        return Server()
    components.used(f"PostgreSQL {_version(GIVEN)}, given by TWINSET_TEST_POSTGRES")
    return GivenServer(GIVEN)
