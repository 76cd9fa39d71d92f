"""A server of S3 on loopback (moto), behind a gateway, with a bucket for each test."""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.gateway import Gateway

ACCESS, SECRET, TOKEN = "AKIATESTACCESSKEY", "s3cr3t/Value+of/the+test", "session-token-of-the-test"
_NUMBERS = itertools.count()


class Bucket:
    """An empty bucket: `url` is its address, `gateway` counts what goes through."""

    def __init__(self, client: Any, gateway: Gateway) -> None:
        self.client, self.gateway = client, gateway
        self.name = f"bucket-{next(_NUMBERS)}"
        client.create_bucket(Bucket=self.name)
        self.url = f"s3://{self.name}"
        gateway.forget()

    def put(self, key: str, data: bytes | Path) -> str:
        """Store an object; gives its address."""
        body = data.read_bytes() if isinstance(data, Path) else data
        self.client.put_object(Bucket=self.name, Key=key, Body=body)
        self.gateway.forget()
        return f"{self.url}/{key}"

    def put_folder(self, folder: Path, prefix: str) -> str:
        """Store every file of a folder; gives the address of the prefix."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path)
        return f"{self.url}/{prefix}"

    def keys(self, prefix: str = "") -> list[str]:
        """The keys that begin with a prefix."""
        found = self.client.list_objects_v2(Bucket=self.name, Prefix=prefix)
        return [one["Key"] for one in found.get("Contents", [])]

    def get(self, key: str) -> bytes:
        """The contents of an object."""
        data: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return data

    def save(self, prefix: str, folder: Path) -> Path:
        """Store every object below a prefix as a file."""
        for key in self.keys(f"{prefix}/"):
            path = folder / key.removeprefix(f"{prefix}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.get(key))
        return folder


def variables(endpoint: str) -> dict[str, str]:
    """The environment of a run that uses the server, and nothing else of this machine."""
    return {
        "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": TOKEN, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip


@functools.cache
def _server() -> int:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    return int(server.get_host_and_port()[1])


@contextmanager
def new_bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """Make a bucket, and set the environment so that it is found."""
    import boto3

    port = _server()
    with Gateway(port) as gateway:
        for name, value in variables(gateway.url).items():
            monkeypatch.setenv(name, value)
        client = boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{port}", aws_access_key_id=ACCESS, aws_secret_access_key=SECRET
        )
        yield Bucket(client, gateway)
