"""Runs from and to a bucket that are killed, meet changed objects or broken connections, and never tell a secret."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import components
from tests.buckets import ACCESS, SECRET, TOKEN, Bucket, new_bucket, variables
from tests.reliability.command import STATE, acts, bytes_of, documents, struck, twinset, write_lines

KILLED = -9
SAME = ("kept/pages.jsonl", "removed.parquet", "clusters.parquet", "pairs.parquet")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bucket]:
    with new_bucket(monkeypatch) as one:
        one.put("pages.jsonl", write_lines(tmp_path / "pages.jsonl", documents(400)))
        one.put("other.jsonl", write_lines(tmp_path / "other.jsonl", documents(100, seed=2)))
        (tmp_path / "work").mkdir()
        monkeypatch.chdir(tmp_path / "work")
        yield one


def fetched(bucket: Bucket) -> list[str]:
    """The objects that were read, one for each request."""
    return [line.decode().split()[1].rpartition("/")[2] for line in bucket.gateway.requests
            if line.startswith(b"GET") and b".jsonl" in line]  # fmt: skip


def test_a_run_that_is_killed_while_it_fetches_goes_on(bucket: Bucket, tmp_path: Path) -> None:
    words = ["dedup", f"{bucket.url}/pages.jsonl", f"{bucket.url}/other.jsonl", "-o"]
    seen = acts(".ranges", *words, "whole")
    noted = [number for number, act in enumerate(seen, 1) if act.startswith("open") and act.endswith(" a")]
    assert len(noted) == 2  # one range of each object
    bucket.gateway.forget()
    assert struck("KILL", noted[1], ".ranges", *words, "out").code == KILLED
    assert len(fetched(bucket)) == 2
    assert [path.name for path in Path().iterdir() if path.name.startswith("out")] == [f"out{STATE}"]
    bucket.gateway.forget()
    again = twinset(*words, "out")
    assert again.code == 0, again.err
    assert "are here from an earlier run" in again.err
    assert len(fetched(bucket)) == 1
    assert bytes_of(Path("out")) == bytes_of(Path("whole"))
    assert not Path(f"out{STATE}").exists()


def test_a_run_that_is_killed_later_fetches_nothing_again(bucket: Bucket, tmp_path: Path) -> None:
    words = ["dedup", f"{bucket.url}/pages.jsonl", "-o"]
    assert struck("KILL", 2, f"out{STATE}/manifest.json", *words, "out", "--scratch", "scratch").code == KILLED
    bucket.gateway.forget()
    again = twinset(*words, "out", "--scratch", "scratch")
    assert again.code == 0, again.err
    assert "resuming an interrupted run" in again.err
    assert fetched(bucket) == []
    assert not any(path.name.endswith(STATE) for path in Path("scratch").iterdir())


def test_an_object_that_changed_between_two_runs_is_fetched_again(bucket: Bucket, tmp_path: Path) -> None:
    words = ["dedup", f"{bucket.url}/pages.jsonl", "-o", "out"]
    assert struck("KILL", 2, f"out{STATE}/manifest.json", *words).code == KILLED
    changed = write_lines(tmp_path / "pages.jsonl", documents(400, seed=7))
    bucket.put("pages.jsonl", changed)
    again = twinset(*words)
    assert again.code == 0, again.err
    assert "an interrupted run with other options, sources or version is discarded" in again.err
    assert twinset("dedup", changed, "-o", "local").code == 0
    for name in SAME:
        assert Path("out", name).read_bytes() == Path("local", name).read_bytes()


def stages_of_an_upload(bucket: Bucket) -> list[str]:
    """The requests of an upload, in order."""
    return [line.decode().split(" HTTP")[0] for line in bucket.gateway.requests if line[:3] in (b"PUT", b"POS", b"DEL")]


@pytest.mark.parametrize("moment", ["first", "last"])
def test_a_run_that_is_killed_while_it_uploads_goes_on(bucket: Bucket, tmp_path: Path, moment: str) -> None:
    local = twinset("dedup", tmp_path / "pages.jsonl", "-o", "local")
    assert local.code == 0, local.err
    words = ["dedup", f"{bucket.url}/pages.jsonl", "-o", f"{bucket.url}/out/clean", "--json"]
    at = {"first": 1, "last": 11}[moment]
    assert struck("KILL", at, "uploaded.json", *words).code == KILLED
    found = bucket.keys("out/")
    assert "out/clean/summary.json" not in found
    assert all("/.twinset-unfinished/" in key for key in found)
    refused = twinset(*words[:-1], "--scratch", tmp_path / "else")
    if found:
        refused.refused("has an unfinished upload of another run; if that run has ended, replace it with --force")
        bucket.gateway.forget()
    else:
        assert refused.code == 0
        return
    again = twinset(*words)
    assert again.code == 0, again.err
    staged = [line for line in stages_of_an_upload(bucket) if "unfinished" in line and line.startswith("PUT")]
    assert len(staged) < 12
    saved = bucket.save("out/clean", tmp_path / "saved")
    assert not (saved / ".twinset-unfinished").exists()
    for name in SAME:
        assert (saved / name).read_bytes() == Path("local", name).read_bytes()
    assert [path.name for path in Path().iterdir()] == ["local"]
    assert twinset("pairs", f"{bucket.url}/out/clean/kept", "--quiet").code == 0


def test_ctrl_c_names_all_that_is_left(bucket: Bucket) -> None:
    words = ["dedup", f"{bucket.url}/pages.jsonl", f"{bucket.url}/other.jsonl", "-o", "out", "--scratch", "scratch"]
    seen = acts(".ranges", *words[:-3], "whole", *words[-2:])
    noted = [number for number, act in enumerate(seen, 1) if act.startswith("open") and act.endswith(" a")]
    stopped = struck("INT", noted[1], ".ranges", *words)
    assert stopped.code == 130
    [copies] = Path("scratch").glob("*/fetched")
    assert f"stopped; {copies} has what was fetched: run the same command again to resume, or delete it" in stopped.err
    assert twinset(*words).code == 0
    words = ["dedup", f"{bucket.url}/pages.jsonl", "-o", f"{bucket.url}/out/clean", "--quiet"]
    stopped = struck("INT", 5, "uploaded.json", *words)
    assert stopped.code == 130
    left = f"an unfinished upload is below {bucket.url}/out/clean: the same command completes it, another one replaces"
    assert left in stopped.err
    assert any("/.twinset-unfinished/" in key for key in bucket.keys("out/"))
    assert twinset(*words).code == 0


def test_the_summary_is_the_last_of_an_upload(bucket: Bucket) -> None:
    assert twinset("dedup", f"{bucket.url}/pages.jsonl", "-o", f"{bucket.url}/clean", "--json").code == 0
    lines = stages_of_an_upload(bucket)
    placed = [line for line in lines if line.startswith("PUT") and "unfinished" not in line]
    assert placed[-1].endswith("/clean/summary.json")
    assert all("unfinished" in line for line in lines[: lines.index(placed[0])])


def test_requests_that_fail_are_repeated(bucket: Bucket, tmp_path: Path) -> None:
    bucket.gateway.refuses, bucket.gateway.breaks, bucket.gateway.after = 2, 3, 700
    done = twinset("dedup", f"{bucket.url}/pages.jsonl", "-o", f"{bucket.url}/clean", "--json")
    assert done.code == 0, done.err
    assert (bucket.gateway.refuses, bucket.gateway.breaks) == (0, 0)
    assert twinset("dedup", tmp_path / "pages.jsonl", "-o", "local").code == 0
    for name in SAME:
        assert bucket.get(f"clean/{name}") == Path("local", name).read_bytes()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with components.small_disk(tmp_path) as disk:
        yield disk


def test_a_disk_without_room(bucket: Bucket, small_disk: Path, tmp_path: Path) -> None:
    large = write_lines(tmp_path / "large.jsonl", documents(6000))
    assert large.stat().st_size > 2**20
    bucket.put("large.jsonl", large)
    done = twinset("dedup", f"{bucket.url}/large.jsonl", "-o", "out", "--scratch", small_disk)
    done.refused("must be fetched, and", "free space, or choose another folder with --scratch")
    assert not Path("out").exists()
    assert not Path(f"out{STATE}").exists()


def test_fetching_takes_memory_for_a_few_pieces_only(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(os.urandom(2**20) * 170)
    address = bucket.put("large.bin", tmp_path / "large.bin")
    program = f"""
import resource
from pathlib import Path
from twinset.documents.remote.fetch import Fetcher
from twinset.system.addresses import Address
fetcher = Fetcher(Path("fetched"))
copy = fetcher.copy(fetcher.find(Address.of({address!r})))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fetcher.fetch([(copy, None)])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, copy.is_complete)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    grown, complete = done.stdout.split()
    assert complete == "True"
    assert int(grown) < 150  # MiB: eight pieces of eight, and what the packages keep beside them


def test_no_secret_is_told(bucket: Bucket, tmp_path: Path) -> None:
    told = []
    hidden = "s3cr3t/inthe+address"
    for words in (
        ["dedup", f"{bucket.url}/pages.jsonl", "-o", f"{bucket.url}/clean", "--json", "--debug"],
        ["dedup", f"{bucket.url}/pages.jsonl", "-o", "out", "--debug"],
        ["pairs", f"{bucket.url}/pages.jsonl", "--against", f"{bucket.url}/other.jsonl", "-o", "pairs.csv", "--json"],
        ["pairs", f"{bucket.url}/none.jsonl", "--debug"],
        ["pairs", f"s3://AKIAINADDRESS:{hidden}@{bucket.name}/pages.jsonl", "--debug"],
        ["pairs", f"https://ada:{hidden}@127.0.0.1:1/a.jsonl", "--debug"],
        ["pairs", f"http://127.0.0.1:1/a.jsonl?X-Amz-Signature={hidden}&X-Amz-Expires=60", "--debug"],
        ["pairs", f"{bucket.gateway.url}/{bucket.name}/none.jsonl?sig={hidden}", "--debug"],
        ["dedup", tmp_path / "pages.jsonl", "-o", f"s3://AKIAINADDRESS:{hidden}@{bucket.name}/out", "--debug"],
        ["pairs", tmp_path / "pages.jsonl", "--against", f"https://ada:{hidden}@127.0.0.1/a", "--dry-run", "--debug"],
        ["sketch", tmp_path / "pages.jsonl", "-o", f"s3://AKIAINADDRESS:{hidden}@{bucket.name}/out.parquet"],
    ):
        done = twinset(*words)
        assert done.code in (0, 2), done.err
        told += [done.out, done.err]
    words = ["dedup", f"{bucket.gateway.url}/{bucket.name}/pages.jsonl?X-Amz-Signature={hidden}", "-o", "from-web"]
    assert struck("KILL", 2, "manifest.json", *words).code == KILLED
    kept = [path.read_bytes() for path in Path().rglob("*") if path.is_file()]
    assert any(path.name.endswith(".ranges") for path in Path().rglob("*"))
    assert twinset(*words).code == 0
    kept += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    kept += list(map(bucket.get, bucket.keys("")))
    everything = b"\n".join([*(one.encode() for one in told), *kept])
    for secret in (SECRET, TOKEN, ACCESS, hidden, "AKIAINADDRESS", hidden.replace("/", "%2F").replace("+", "%2B")):
        assert secret.encode() not in everything, secret
    summary = json.loads(Path("from-web/summary.json").read_text())
    assert summary["input"]["sources"] == [f"{bucket.gateway.url}/{bucket.name}/pages.jsonl?…"]
    again = twinset("explain", "from-web", documents(3)[0]["id"])
    again.refused("the query of an address is not stored; give it again with --source")


def test_credentials_of_a_profile_are_used(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = bucket.gateway.url
    for name in variables(endpoint):
        monkeypatch.delenv(name)
    config = f"[profile news]\nregion = us-east-1\nendpoint_url = {endpoint}\n"
    (tmp_path / "config").write_text(config)
    (tmp_path / "credentials").write_text(f"[news]\naws_access_key_id = {ACCESS}\naws_secret_access_key = {SECRET}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_PROFILE", "news")
    done = twinset("pairs", f"{bucket.url}/pages.jsonl", "--quiet")
    assert done.code == 0, done.err
    assert re.search("^left|^\"left", done.out)


def test_a_bucket_is_read_as_a_public_one_without_credentials(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    refused = "the server does not allow it without credentials, and none were found; set AWS_PROFILE"
    twinset("pairs", f"{bucket.url}/pages.jsonl").refused(refused)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    twinset("pairs", f"{bucket.url}/pages.jsonl").refused("AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    bucket.client.put_object_acl(Bucket=bucket.name, Key="pages.jsonl", ACL="public-read")
    done = twinset("pairs", f"{bucket.url}/pages.jsonl", "--quiet")
    assert done.code == 0, done.err
