"""A server of files on the web that serves ranges, and does wrong what it is told to."""

from __future__ import annotations

import http.server
import re
import threading
from typing import Any, Self


class OddWeb:
    """Serves `files` by their names, with the query where a file has such a name. A context manager.

    `faults` are done to the next requests of a body of more than one byte, one for each request: ``503``, ``cut`` (the
    connection ends early), ``silent`` (half of it comes, then nothing), ``other`` (the file is changed first),
    ``elsewhere`` (another range than the one that was asked for), ``whole`` (no range, but the file), ``held`` (nothing
    comes before `release` is set; `holding` counts such requests).
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: list[str] = []
        self.ranges, self.etags, self.lengths = True, True, True
        self.asked: list[str | None] = []
        """The ranges that were asked for."""
        self.done, self.release, self.holding = threading.Event(), threading.Event(), threading.Semaphore(0)
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *words: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                web.answer(self)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.done.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: Any) -> None:
        whole = request.path.removeprefix("/")
        name = whole if whole in self.files else whole.partition("?")[0]
        wanted = request.headers.get("Range")
        self.asked.append(wanted)
        if name not in self.files:
            request.send_error(404)
            return
        fault = self.faults.pop(0) if self.faults and wanted != "bytes=0-0" else ""
        if fault == "503":
            request.send_error(503)
            return
        if fault == "held":
            self.holding.release()
            self.release.wait(60)
        if fault == "other":
            self.files[name] = bytes(reversed(self.files[name]))
        data = self.files[name]
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted or "") if self.ranges and fault != "whole" else None
        start, stop = (int(span[1]), min(int(span[2]) + 1, len(data))) if span else (0, len(data))
        if span and start >= len(data):
            request.send_error(416)
            return
        request.send_response(206 if span else 200)
        if self.etags:
            request.send_header("ETag", f'"{hash(data):x}"')
        if span:
            shift = 1 if fault == "elsewhere" else 0
            request.send_header("Content-Range", f"bytes {start + shift}-{stop - 1 + shift}/{len(data)}")
        if self.lengths:
            request.send_header("Content-Length", str(stop - start))
        request.end_headers()
        body = data[start:stop]
        request.wfile.write(body[: len(body) // 2] if fault in ("cut", "silent") else body)
        if fault == "silent":
            request.wfile.flush()
            self.done.wait(30)
