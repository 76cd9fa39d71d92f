"""A gateway in front of a server on loopback: it counts bytes and connections, and can break, delay or refuse them."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Gateway:
    """Passes connections on to a server. A context manager.

    `breaks`: how many of the next connections end after `after` bytes of the answers. `refuses`: how many requests are
    answered by 503 instead. `forbids`: beginnings of requests that are answered by 403.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self.sent = self.received = self.connections = 0
        self.breaks, self.after, self.refuses = 0, 0, 0
        self.forbids: tuple[bytes, ...] = ()
        self.requests: list[bytes] = []
        """The first lines of requests."""

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def forget(self) -> None:
        """Count from here."""
        self.sent = self.received = self.connections = 0
        self.requests = []

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            limit = self.after if self.breaks > 0 else None
            self.breaks -= limit is not None
            refused = self.refuses > 0
            self.refuses -= refused
        with client, suppress(OSError):
            if refused:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            with socket.create_connection(("127.0.0.1", self._port)) as server:
                threading.Thread(target=self._pass_requests, args=(client, server), daemon=True).start()
                self._pass_answers(server, client, limit)

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                with self._lock:
                    self.received += len(data)
                    if data[:4] in (b"GET ", b"HEAD", b"PUT ", b"POST", b"DELE"):
                        self.requests.append(data.partition(b"\r\n")[0])
                if data.startswith(self.forbids or (b"\0",)):
                    client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    break
                server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _pass_answers(self, server: socket.socket, client: socket.socket, limit: int | None) -> None:
        passed = 0
        while data := server.recv(65536):
            with self._lock:
                self.sent += len(data)
            if limit is not None and passed + len(data) > limit:
                client.sendall(data[: limit - passed])
                return
            passed += len(data)
            client.sendall(data)
