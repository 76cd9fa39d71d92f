"""A server that speaks as much of the Hugging Face hub's API as its package needs to read and commit files.

It is no hub: pull requests, pages of long lists, Xet storage and the checks of the real one are not there.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import re
import threading
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_T0kenOfTheTest"


class Hub:
    """One dataset, ``ada/news``, which needs the token; `commits` are its versions, each by name. A context manager."""

    def __init__(self) -> None:
        self.commits: list[dict[str, bytes]] = [{}]
        self.large: dict[str, bytes] = {}
        self.messages: list[str] = []
        self.sent = 0
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *words: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                hub.answer(self)

            do_POST = do_PUT = do_HEAD = do_GET

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def put(self, **files: bytes) -> None:
        """Commit files, by names with __ for a slash."""
        self.commits.append({**self.commits[-1], **{name.replace("__", "/"): data for name, data in files.items()}})

    def answer(self, request: Any) -> None:
        url = urlsplit(request.path)
        path = unquote(url.path)
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        if path.startswith("/large/"):
            self.large[path.removeprefix("/large/")] = body
            return self._send(request, b"{}")
        if request.headers.get("Authorization") != f"Bearer {TOKEN}" or "/ada/news" not in path:
            return self._send(request, b"{}", 401, "RepoNotFound")
        at = re.search(r"/(revision|tree|paths-info|resolve|preupload|commit)/([^/]+)/?(.*)", path)
        what = at[1] if at else "batch" if path.endswith("/batch") else "revision"
        number = len(self.commits) - 1 if at is None or at[2] == "main" else self._number(at[2])
        if number is None:
            return self._send(request, b"{}", 404, "RevisionNotFound")
        files = self.commits[number]
        if what == "revision":
            return self._send(request, {"id": "ada/news", "sha": f"{number:040x}"})
        if what == "tree":
            folder = f"{at[3]}/" if at and at[3] else ""
            found = [self._about(name, files) for name in sorted(files) if name.startswith(folder)]
            return self._send(request, found) if found else self._send(request, b"{}", 404, "EntryNotFound")
        if what == "paths-info":
            asked = parse_qs(body.decode()).get("paths", [])
            return self._send(request, [self._about(name, files) for name in asked if name in files])
        if what == "resolve":
            return self._send_file(request, files.get(at[3] if at else ""))
        if what == "preupload":
            mode = {True: "lfs", False: "regular"}
            asked = [one["path"] for one in json.loads(body)["files"]]
            made = [{"path": one, "uploadMode": mode[one.endswith(".parquet")], "shouldIgnore": False} for one in asked]
            return self._send(request, {"files": made})
        if what == "batch":
            objects = [
                {**one, "actions": {"upload": {"href": f"{self.url}/large/{one['oid']}"}}}
                for one in json.loads(body)["objects"]
            ]
            return self._send(request, {"transfer": "basic", "objects": objects}, kind="application/vnd.git-lfs+json")
        return self._commit(request, body)

    def _commit(self, request: Any, body: bytes) -> None:
        files = dict(self.commits[-1])
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                self.messages.append(value["summary"])
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        self.commits.append(files)
        made = f"{len(self.commits) - 1:040x}"
        url = f"{self.url}/datasets/ada/news/commit/{made}"
        self._send(request, {"commitOid": made, "commitUrl": url, "success": True})

    def _number(self, revision: str) -> int | None:
        number = int(revision, 16) if re.fullmatch("[0-9a-f]{40}", revision) else -1
        return number if 0 <= number < len(self.commits) else None

    def _about(self, name: str, files: dict[str, bytes]) -> dict[str, Any]:
        digest = hashlib.sha1(b"blob %d\0" % len(files[name]) + files[name]).hexdigest()
        return {"type": "file", "path": name, "size": len(files[name]), "oid": digest}

    def _send_file(self, request: Any, data: bytes | None) -> None:
        if data is None:
            return self._send(request, b"{}", 404, "EntryNotFound")
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range") or "")
        start, stop = (int(span[1]), int(span[2]) + 1) if span else (0, len(data))
        request.send_response(206 if span else 200)
        request.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        request.send_header("Content-Length", str(len(data[start:stop])))
        request.end_headers()
        self.sent += len(data[start:stop])
        request.wfile.write(data[start:stop])
        return None

    def _send(
        self, request: Any, value: Any, code: int = 200, error: str = "", kind: str = "application/json"
    ) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        request.send_response(code)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(data)))
        if error:
            request.send_header("X-Error-Code", error)
        request.end_headers()
        request.wfile.write(data)
