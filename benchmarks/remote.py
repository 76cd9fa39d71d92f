"""A run from a bucket on this machine, beside the same run from the disk and a plain download of the same objects."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpora import generated
from benchmarks.measure import BenchmarkError, Setting, say, time_command, twinset

BUCKET, SHARDS, LIMIT = "bench", 8, 1.3
PORT = 15_632
DOWNLOAD = """
import sys, boto3
from concurrent.futures import ThreadPoolExecutor
client = boto3.client("s3")
folder, *keys = sys.argv[1:]
with ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda key: client.download_file("bench", key, f"{folder}/{key.replace('/', '-')}"), keys))
"""


def measure(setting: Setting) -> dict[str, Any]:
    documents = 2_000 if setting.quick else 50_000
    table = pq.read_table(generated(setting, documents))
    with tempfile.TemporaryDirectory(dir=setting.work) as name:
        folder = Path(name)
        shards = {"narrow": _write(table, folder / "narrow"), "wide": _write(_with_junk(table), folder / "wide")}
        with _server() as env:
            for kind, paths in shards.items():
                _upload(env, kind, paths)
            found: dict[str, Any] = {"documents": documents}
            found["dedup"] = _compare(setting, env, folder, "narrow", ["dedup"], "clean")
            found["pairs"] = _compare(setting, env, folder, "wide", ["pairs", "--id", "id"], "pairs.parquet")
    say(f"  dedup {_ratio(found['dedup']):.2f}, pairs of wide shards {_ratio(found['pairs']):.2f} × disk and download")
    return found


def _write(table: pa.Table, folder: Path) -> list[Path]:
    folder.mkdir()
    rows = -(-table.num_rows // SHARDS)
    paths = [folder / f"{number}.parquet" for number in range(SHARDS)]
    for number, path in enumerate(paths):
        pq.write_table(table.slice(number * rows, rows), path)
    return paths


def _with_junk(table: pa.Table) -> pa.Table:
    """The same rows with a column of as many bytes that no compression makes smaller."""
    size = table["text"].nbytes // max(1, table.num_rows)
    return table.append_column("junk", pa.array([os.urandom(size) for _ in range(table.num_rows)]))


@contextmanager
def _server() -> Iterator[dict[str, str]]:
    """Start moto's server; the environment in which its bucket is found."""
    url = f"http://127.0.0.1:{PORT}"
    env = {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench",
           "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}  # fmt: skip
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(PORT)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{url}/moto-api/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise BenchmarkError("moto's server did not start; is the extra `test` installed?")
        yield env
    finally:
        server.terminate()
        server.wait()


def _upload(env: dict[str, str], kind: str, paths: list[Path]) -> None:
    import boto3

    client = boto3.client(
        "s3", endpoint_url=env["AWS_ENDPOINT_URL"], aws_access_key_id="bench", aws_secret_access_key="bench",
        region_name="us-east-1",
    )  # fmt: skip
    client.create_bucket(Bucket=BUCKET)
    for path in paths:
        client.upload_file(str(path), BUCKET, f"{kind}/{path.name}")


def _compare(
    setting: Setting, env: dict[str, str], folder: Path, kind: str, command: list[str], output: str
) -> dict[str, Any]:
    run = [twinset(), *command, "--threshold", "0.8", "--force", "--quiet"]
    keys = [f"{kind}/{number}.parquet" for number in range(SHARDS)]
    (folder / "down").mkdir(exist_ok=True)
    disk = time_command([*run, str(folder / kind), "-o", str(folder / f"local-{output}")], setting.repeat)
    download = time_command([sys.executable, "-c", DOWNLOAD, str(folder / "down"), *keys], setting.repeat, env=env)
    out = str(folder / f"remote-{output}")
    bucket = time_command([*run, f"s3://{BUCKET}/{kind}/", "-o", out], setting.repeat, env=env)
    size = sum(path.stat().st_size for path in (folder / kind).iterdir())
    return {"bytes": size, "disk": disk.to_dict(), "download": download.to_dict(), "bucket": bucket.to_dict()}


def _ratio(one: dict[str, Any]) -> float:
    return float(one["bucket"]["best"]) / (float(one["disk"]["best"]) + float(one["download"]["best"]))


def goals(result: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    ratios = {name: _ratio(result[name]) for name in ("dedup", "pairs")}
    wanted = f"≤ {LIMIT} × (disk + download)"
    return [(f"{name} from a bucket", wanted, f"{one:.2f} ×", one <= LIMIT) for name, one in ratios.items()]


def table(result: dict[str, Any]) -> str:
    lines = ["| run | MB | from the disk | download | from the bucket | ratio |", "|---|---:|---:|---:|---:|---:|"]
    for name, label in (("dedup", "dedup, all columns"), ("pairs", "pairs, half of the bytes needed")):
        one = result[name]
        times = " | ".join(f"{one[part]['best']:.2f} s" for part in ("disk", "download", "bucket"))
        lines.append(f"| {label} | {one['bytes'] / 1e6:.0f} | {times} | {_ratio(one):.2f} |")
    return "\n".join(lines)
