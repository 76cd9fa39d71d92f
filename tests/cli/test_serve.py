"""``twinset serve`` as a user starts it: what it prints, how it ends, what it refuses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import twinset
from tests.cli.conftest import Call

TOKEN = "0123456789abcdef"
ROSE = "a rose is a rose is a rose in any garden of the town"


@pytest.fixture
def news(tmp_path: Path) -> Path:
    path = tmp_path / "news.twinset"
    with twinset.Index.create(path, shingle="word:3", seed=1) as index:
        index.add(["a"], [ROSE])
    return path


def started(*words: object, **variables: str) -> tuple[subprocess.Popen[str], str]:
    """The process, and the URL that it printed."""
    command = [sys.executable, "-m", "twinset", "serve", *map(str, words), "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables}
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(r"serving at (http://127\.0\.0\.1:\d+/(\?token=[\w-]{43})?)\n", line)
    assert found, (line, process.communicate())
    return process, found[1]


def fetched(url: str, token: str | None = None) -> bytes:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        content: bytes = answer.read()
        return content


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_its_url_and_ends_well(news: Path, how: signal.Signals) -> None:
    process, url = started(news)
    place, _, token = url.partition("?token=")
    try:
        assert fetched(place + "healthz") == b'{"status":"ok"}'
        with twinset.Client(url, index="news") as client:
            assert client.query(ROSE)["answers"][0]["id"] == "a"
            assert client.add({"b": "another text"})["added"] == 1
        with pytest.raises(urllib.error.HTTPError, match="401"):
            fetched(place + "indexes")
    finally:
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, ""), err
    assert token not in err
    assert "POST /indexes/{name}/query 200" in err
    with twinset.Index.open(news) as index:
        assert list(index) == ["a", "b"]
    assert [path.name for path in news.parent.iterdir()] == ["news.twinset"], "no log or lock is left"


def test_a_token_of_the_environment_is_not_printed(news: Path) -> None:
    process, url = started(news, TWINSET_SERVE_TOKEN=TOKEN)
    try:
        assert "token" not in url
        assert b"news" in fetched(url + "indexes", TOKEN)
    finally:
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert TOKEN not in err


def test_what_is_refused(news: Path, tmp_path: Path, call: Call) -> None:
    (tmp_path / "other").mkdir()
    twinset.Index.create(tmp_path / "other" / "news.twinset", seed=1).close()
    twinset.Index.create(tmp_path / "pictures.twinset", images=True, seed=1).close()
    assert "no such index" in call("serve", "missing.twinset", "--port", 0).refusal
    assert "two indexes have the name 'news'" in call("serve", news, "other/news.twinset", "--port", 0).refusal
    assert "pictures" in call("serve", "pictures.twinset", "--port", 0).refusal
    assert "give a token too" in call("serve", news, "--port", 0, "--host", "0.0.0.0").refusal
    assert "16 to 256" in call("serve", news, "--port", 0, "--token", "short").refusal
    assert "leave one of them out" in call("serve", news, "--token", TOKEN, "--tokens", "x").refusal
    assert "port is" in call("serve", news, "--port", 70_000).refusal
    assert "public_url" in call("serve", news, "--port", 0, "--public-url", "nonsense").refusal.replace("-", "_")
    assert [path.name for path in news.parent.iterdir() if path.name.startswith("news")] == ["news.twinset"]


def test_without_the_packages(news: Path) -> None:
    program = (
        "import sys; sys.modules['fastapi'] = None; from twinset.cli import main; "
        f"sys.exit(main(['serve', {str(news)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'twinset[web]'" in done.stderr
    assert done.stderr.count("\n") == 1
