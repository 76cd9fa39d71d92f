"""gs:// through the XML interface of Google Cloud Storage, which is that of S3 with other names of headers.

The server is moto's, behind one that translates these names. Whatever Google's server does otherwise is not tested.
"""

from __future__ import annotations

import http.client
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pytest

import twinset
from tests.buckets import Bucket
from tests.reliability.command import bytes_of, documents, write_lines
from twinset.errors import FetchError, OutputError

SCOPE = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


class Translator(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a server of S3."""

    server: Any
    protocol_version = "HTTP/1.1"

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        given = {name.lower(): value for name, value in self.headers.items()}
        headers = {name.replace("x-goog-", "x-amz-"): value for name, value in given.items() if name != "host"}
        headers["authorization"] = SCOPE
        if "x-amz-copy-source" in headers:
            headers["x-amz-copy-source"] = unquote(headers["x-amz-copy-source"])
        there = http.client.HTTPConnection("127.0.0.1", self.server.port)
        path = quote(unquote(url.path)) + (f"?{url.query}" if url.query else "")
        there.request(self.command, path, body or None, headers)
        answer = there.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(data)
        there.close()

    do_PUT = do_POST = do_HEAD = do_DELETE = do_GET


@pytest.fixture
def google(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Translator)
    server.daemon_threads = True
    server.port = int(bucket.gateway.url.rpartition(":")[2])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server.server_address[1]}")
    yield f"gs://{bucket.name}"
    server.shutdown()
    server.server_close()


def test_sources_and_outputs(google: str, bucket: Bucket, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "pages.jsonl", documents(120))
    bucket.put("in/pages.jsonl", lines)
    twinset.dedup(lines, output=tmp_path / "local")
    twinset.dedup(f"{google}/in/*.jsonl", output=f"{google}/clean")
    mine, theirs = bytes_of(tmp_path / "local"), bytes_of(bucket.save("clean", tmp_path / "saved"))
    assert mine.keys() == theirs.keys()
    assert {name for name in mine if mine[name] != theirs[name]} <= {"sources.parquet", "summary.json"}
    with pytest.raises(OutputError, match=f"^{google}/clean exists"):
        twinset.dedup(f"{google}/in", output=f"{google}/clean")
    twinset.dedup(f"{google}/in", output=f"{google}/clean", force=True)
    with pytest.raises(FetchError, match="there is no such bucket"):
        twinset.find_pairs("gs://no-such-bucket-2/a")
