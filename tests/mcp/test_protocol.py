"""The server as a process: messages on stdin and stdout, time limits, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.agent import Agent
from tests.mcp.conftest import ROSE, TIDE
from twinset.mcp.work import Deadline, Overtime, Workers

HELLO = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Raw:
    """A server, and lines to and from it."""

    def __init__(self, *words: object) -> None:
        command = [sys.executable, "-m", "twinset", "mcp", *map(str, words)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, line: bytes | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        data = line if isinstance(line, bytes) else json.dumps({"jsonrpc": "2.0", **line}).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def hello(self) -> None:
        self.send({"id": 0, **HELLO})
        assert self.receive()["result"]["serverInfo"]["name"] == "twinset"
        self.send({"method": "notifications/initialized"})

    def end(self) -> tuple[bytes, str]:
        out, err = self.process.communicate(timeout=120)
        return out, err.decode()


def call(id: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_broken_requests_are_answered_and_the_next_is_served(data: Path) -> None:
    server = Raw(data)
    server.hello()
    surrogate = json.dumps(call(1, "compare_texts", left="\ud83d", right="")).encode()
    broken = [b"{", b"\xff\xfe", b"[]", b"7", b"", b'{"jsonrpc": "2.0"}', b'{"jsonrpc":"2.0","id":5,"method":3}']
    for line in (*broken, b"[" * 9999, surrogate):
        server.send(line)
        answer = server.receive()
        assert answer["error"]["code"] == -32700, line
        assert answer.get("id") is None
        assert "no message of the protocol" in answer["error"]["message"]
    server.send({"id": 1, "method": "tools/drop"})
    assert server.receive()["error"]["code"] == -32601
    server.send({"id": 2, "method": "tools/call", "params": {"name": 7}})
    assert server.receive()["error"]["code"] == -32602
    server.send(call(4, "compare_texts", left="a b", right="a b"))
    assert server.receive()["result"]["structuredContent"]["similarity"] == 1.0
    assert server.end() == (b"", "")
    assert server.process.returncode == 0


def test_a_request_that_is_too_long(data: Path) -> None:
    server = Raw(data, "--length", "1kB")
    server.hello()
    server.send(call(1, "compare_texts", left="a" * 2**20, right="b" * 2**15))
    assert server.receive()["error"]["code"] == -32700
    server.send(call(2, "compare_texts", left="\x01" * 1000, right="\x02" * 1000))
    assert server.receive()["id"] == 2
    assert server.end() == (b"", "")


def test_it_ends_with_its_input_and_says_nothing_else(data: Path) -> None:
    server = Raw(data)
    assert server.end() == (b"", "")
    assert server.process.returncode == 0


def test_it_ends_at_sigterm(data: Path) -> None:
    server = Raw(data)
    server.hello()
    server.process.send_signal(signal.SIGTERM)
    assert server.end() == (b"", "")
    assert server.process.returncode == 0


def test_ctrl_c_ends_it(data: Path) -> None:
    server = Raw(data)
    server.hello()
    server.process.send_signal(signal.SIGINT)
    assert server.end()[0] == b""
    assert server.process.returncode == 130


def test_folders_that_cannot_be_served(tmp_path: Path) -> None:
    server = Raw(tmp_path / "nowhere")
    out, err = server.end()
    assert (out, server.process.returncode) == (b"", 2)
    assert err == f"twinset: {tmp_path}/nowhere is not a folder; name folders that have indexes and results\n"


def test_a_text_of_ten_megabytes(agent: Agent) -> None:
    long = f"{TIDE} " * 100_000
    assert len(long) > 9_800_000
    assert agent.call("compare_texts", left=long, right=long)["similarity"] == 1.0
    told = agent.call("find_near_duplicates", index="data/news.twinset", text=f"{ROSE} {long}", contained=0.9)
    assert told["found"] > 0
    too_long = agent.call("find_near_duplicates", index="data/news.twinset", text=2 * long).error
    assert "allowed: up to 16 MB" in too_long


def test_calls_at_the_same_time(agent: Agent) -> None:
    calls = [("find_near_duplicates", {"index": "data/news.twinset", "text": ROSE})] * 6
    calls += [("compare_texts", {"left": ROSE, "right": TIDE})] * 3
    calls += [("explain_removal", {"result": "data/clean", "id": "rose-hall"})] * 3
    calls += [("find_passages", {"text": TIDE, "source": "data/news.jsonl", "least": 8})] * 2
    told = agent.call_at_once(*calls)
    assert [one["found"] for one in told[:6]] == [2] * 6
    assert [one["similarity"] for one in told[6:9]] == [0.0] * 3
    assert [one["state"] for one in told[9:12]] == ["removed"] * 3
    assert [one["found"] for one in told[12:]] == [2] * 2


def test_the_older_protocol(data: Path) -> None:
    with Agent([data], mode="legacy") as agent:
        assert len(agent.tools()) == 6
        assert agent.call("find_near_duplicates", index="data/news.twinset", text=ROSE)["found"] == 2


def test_a_call_that_takes_too_long(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "rows.csv").write_text("text\n" + "".join(f"{number} {TIDE}\n" for number in range(300_000)))
    with Agent([folder], "--seconds", "1") as agent:
        error = agent.call("find_passages", text=TIDE * 3, source="data/rows.csv", least=3).error
        assert error.startswith("the call took longer than 1 s and was given up")
        assert agent.call("summarize_result", result="data").error
        assert agent.call("compare_texts", left="a b", right="a b")["similarity"] == 1.0


def test_work_ends_at_its_next_report() -> None:
    ended = threading.Event()

    def endless(deadline: Deadline) -> None:
        try:
            while True:
                deadline.advance(1)
                time.sleep(0.001)
        finally:
            ended.set()

    async def both() -> None:
        workers = Workers(0.05, count=1)
        with pytest.raises(Overtime):
            await workers.do(endless)
        assert await asyncio.to_thread(ended.wait, 60)
        workers.seconds = 60
        assert await workers.do(lambda deadline: 7) == 7
        workers.close()

    asyncio.run(both())


def test_closing_drops_calls_that_wait_and_stops_those_at_work() -> None:
    started, calls = threading.Event(), list[str]()

    def work(deadline: Deadline) -> None:
        calls.append("one")
        started.set()
        while True:
            deadline.advance(1)
            time.sleep(0.001)

    async def close() -> None:
        workers = Workers(600, count=1)
        waiting = [asyncio.ensure_future(workers.do(work)) for _ in range(2)]
        assert await asyncio.to_thread(started.wait, 60)
        workers.close()
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(one) for one in done] == [Overtime, asyncio.CancelledError]

    asyncio.run(close())
    assert calls == ["one"]


def test_without_the_sdk_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ImportError('no mcp')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", "from twinset.cli import script; script()", "mcp", str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        'twinset: the package mcp is required: pip install "mcp", or reinstall Twinset with the extra [mcp]\n'
    )


def test_importing_twinset_does_not_need_the_sdk() -> None:
    program = "import sys, twinset; twinset.Index; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
