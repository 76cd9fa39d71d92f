"""An index of a million documents: how fast it is filled and asked, how large it is, in both homes.

The clock of adding runs from the first text read to the last commit; every commit is durable. datasketch's runs from
texts in memory to candidates, in memory, as in the part against the peers.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from benchmarks.corpora import generated, text_bytes
from benchmarks.environments import PEERS, interpreter
from benchmarks.measure import BenchmarkError, Setting, run_program, say, time_command, twinset

STORES = ("none", "shingles", "text")
HOMES = ("SQLite", "PostgreSQL")
MOST_PEAK = 500e6


def measure(setting: Setting) -> dict[str, Any]:
    documents, fewer = (20_000, 5_000) if setting.quick else (1_000_000, 100_000)
    whole, part = generated(setting, documents), generated(setting, fewer)
    result: dict[str, Any] = {"documents": documents, "bytes": text_bytes(whole), "fewer": fewer, "stores": {}}
    for store in STORES:
        source = whole if store != "shingles" else part
        home = _fresh(setting, store)
        os.sync()
        result["stores"][store] = _step("add", home, str(source), store)
        _said(f"{store}", result["stores"][store])
    home = str(setting.work / "out" / "text.twinset")
    result["query"] = _step("query", home, str(whole))
    say(f"  query p50 {1e3 * result['query']['p50']:.2f} ms, p99 {1e3 * result['query']['p99']:.2f} ms")
    words = ["index", "query", home, "--string", "the first question of a fresh process", "--json"]
    first = time_command([twinset(), *words], repeat=setting.repeat)
    result["open"] = {"best": first.best, "peak": first.peak}
    asked, answers = generated(setting, 2_000 if setting.quick else 20_000), setting.fresh("answers.parquet")
    many = time_command([twinset(), "index", "query", home, str(asked), "-o", str(answers), "--quiet"])
    result["command"] = {"best": many.best, "peak": many.peak}
    result["postgres"] = _postgres(str(whole))
    result["datasketch"] = _datasketch(setting)
    return result


def _step(*words: str) -> dict[str, Any]:
    return run_program(sys.executable, "benchmarks.own_index", *words)


def _said(what: str, found: dict[str, Any]) -> None:
    say(f"  {what}: {found['rate']:,.0f} documents/s, {found['bytes_per_document']:.0f} bytes each")


def _fresh(setting: Setting, store: str) -> str:
    for ending in ("-wal", "-shm", "-lock"):
        setting.fresh(f"{store}.twinset{ending}")
    return str(setting.fresh(f"{store}.twinset"))


def _postgres(source: str) -> dict[str, Any]:
    """The same on a server of our own, with its default settings but for what it may keep in memory."""
    from tests import postgres_server

    if reason := postgres_server.missing():
        return {"failed": reason}
    with postgres_server.Server({"shared_buffers": "512MB", "max_wal_size": "4GB"}) as server:
        url = server.new_database()
        added = _step("add", url, source, "text")
        _said("PostgreSQL", added)
        asked = _step("query", url, source)
        say(f"  PostgreSQL query p50 {1e3 * asked['p50']:.2f} ms, p99 {1e3 * asked['p99']:.2f} ms")
    return {"add": added, "query": asked}


def _datasketch(setting: Setting) -> dict[str, Any]:
    [peer] = [one for one in PEERS if one.name == "datasketch"]
    count = 2_000 if setting.quick else peer.documents
    source, found = generated(setting, count), setting.fresh("datasketch-pairs.parquet")
    try:
        words = (str(source), "--pairs", str(found), "--repeat", str(setting.repeat))
        best = min(run_program(interpreter(peer, setting.venvs), peer.module, *words)["seconds"])
    except BenchmarkError as error:
        say(f"  datasketch left out: {error}")
        return {"failed": str(error)}
    say(f"  datasketch {count / best:,.0f} documents/s")
    return {"documents": count, "rate": count / best}


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    text, none, query = result["stores"]["text"], result["stores"]["none"], result["query"]
    many = f"{result['documents']:,} documents"
    peak = max(text["peak"], none["peak"], result["open"]["peak"], result["command"]["peak"])
    lines = [
        _line(f"index of {many}, SQLite: query, p50", "≤ 1 ms", 1e3 * query["p50"], 1, "{:.2f} ms"),
        _line(f"index of {many}, SQLite: query, p99", "≤ 5 ms", 1e3 * query["p99"], 5, "{:.2f} ms"),
        _line("queries together", "≥ 5,000/s", query["batch"], 5_000, "{:,.0f}/s", more=True),
        _line(f"adding {many}, durably", "≥ 10,000/s", text["rate"], 10_000, "{:,.0f}/s", more=True),
        _line("the last tenth against the first", "≥ 0.5", text["last"] / text["first"], 0.5, "{:.2f}", more=True),
        _line("size without contents", "≤ 900 bytes a document", none["bytes_per_document"], 900, "{:.0f}"),
        _line("peak memory of adding and asking", "≤ 500 MB", peak / 1e6, MOST_PEAK / 1e6, "{:.0f} MB"),
        _line("process start, open, first answer", "< 1.5 s", result["open"]["best"], 1.5, "{:.2f} s"),
    ]
    rival, server = result["datasketch"], result["postgres"]
    if "failed" in rival:
        lines.append(("adding against datasketch in memory", "≥ 10×", "not measured", False))
    else:
        times = text["rate"] / rival["rate"]
        lines.append(_line("adding against datasketch in memory", "≥ 10×", times, 10, "{:.1f}×", more=True))
    if "failed" in server:
        lines.append(("PostgreSQL", "≥ 3,000/s, p50 ≤ 5 ms", "not measured", False))
        return lines
    return [
        *lines,
        _line(f"PostgreSQL: adding {many}", "≥ 3,000/s", server["add"]["rate"], 3_000, "{:,.0f}/s", more=True),
        _line(f"PostgreSQL, {many}: query, p50", "≤ 5 ms", 1e3 * server["query"]["p50"], 5, "{:.2f} ms"),
    ]


def _line(
    what: str, goal: str, found: float, bound: float, shown: str, more: bool = False
) -> tuple[str, str, str, bool]:
    return what, goal, shown.format(found), found >= bound if more else found <= bound


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['documents']:,} documents, {result['bytes'] / 1e6:,.0f} MB; where shingle hashes are kept,"
        f" {result['fewer']:,} of them. Documents a second from text, every commit durable.",
        "",
        "| home | kept | added | first tenth | last tenth | bytes a document | peak memory |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    rows = [("SQLite", store, result["stores"][store]) for store in STORES]
    if "failed" not in result["postgres"]:
        rows.append(("PostgreSQL", "text", result["postgres"]["add"]))
    for home, store, one in rows:
        lines.append(
            f"| {home} | {store} | {one['rate']:,.0f}/s | {one['first']:,.0f}/s | {one['last']:,.0f}/s"
            f" | {one['bytes_per_document']:,.0f} | {one['peak'] / 1e6:.0f} MB |"
        )
    lines += ["", "| home | query p50 | p99 | together | answers each |", "|---|---:|---:|---:|---:|"]
    asked = [("SQLite", result["query"])]
    if "failed" not in result["postgres"]:
        asked.append(("PostgreSQL", result["postgres"]["query"]))
    for home, one in asked:
        lines.append(
            f"| {home} | {1e3 * one['p50']:.2f} ms | {1e3 * one['p99']:.2f} ms | {one['batch']:,.0f}/s"
            f" | {one['answers']:.2f} |"
        )
    asking = max(result["open"]["peak"], result["command"]["peak"])
    lines += [
        "",
        f"Process start, open and first answer: {result['open']['best']:.2f} s; peak memory of `twinset index query`,"
        f" one text or a file of many: {asking / 1e6:.0f} MB.",
    ]
    if "failed" not in result["datasketch"]:
        lines.append(f"datasketch, in memory, insert and query: {result['datasketch']['rate']:,.0f} documents/s.")
    return "\n".join(lines)
