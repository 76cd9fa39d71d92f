"""Buckets and containers of S3, Google Cloud Storage and Azure, by obstore; AWS settings as boto3 finds them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from twinset.documents.remote.stores import (
    RemoteObject,
    TransientError,
    WritableStore,
    changed,
    without_addresses,
)
from twinset.errors import FetchError, MissingError, TwinsetError
from twinset.system.addresses import Address

try:
    import boto3
    import obstore
    from botocore import UNSIGNED
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from obstore import exceptions
    from obstore.auth.boto3 import Boto3CredentialProvider
    from obstore.store import AzureStore, GCSStore, S3Store
except ImportError as error:
    raise MissingError(
        "addresses of buckets need obstore and boto3: pip install 'twinset[remote]'"
    ) from error

_RETRIES: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}
_CLIENT: Any = {"connect_timeout": "10s", "read_timeout": "1min", "timeout": "1h", "user_agent": "twinset"}
_LIST_AT_A_TIME = 1000
_PART = 16 * 2**20
_PARTS_AT_A_TIME = 2
_MOST_PARTS = 9000
_WEAK = "W/"
_NOT_THERE = "there is no such bucket, container or object"
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
_SIGNS = (("dns error", "its name is not known"), ("connection refused", "connection refused"))


class BucketStore(WritableStore):
    """One bucket or container."""

    def __init__(self, address: Address) -> None:
        self.root = address.at("")
        with _translated(address):
            self._store: Any = _OPEN[address.store](address)

    def find(self, address: Address) -> RemoteObject | None:
        """Look for an object by its key."""
        with _translated(address):
            try:
                return _described(address, obstore.head(self._store, address.key))
            except (exceptions.NotFoundError, FileNotFoundError):
                pass
        return None

    def list(self, address: Address) -> Iterator[RemoteObject]:
        """List keys below a prefix, which ends with a slash."""
        with _translated(address):
            for some in obstore.list(self._store, address.key or None, chunk_size=_LIST_AT_A_TIME):
                for meta in some:
                    yield _described(address.at(meta["path"]), meta)

    def read(self, one: RemoteObject, start: int, stop: int) -> Any:
        """Read a range of the version that was found."""
        options: Any = {"range": (start, stop)}
        if not one.version.startswith(_WEAK):
            options["if_match"] = f'"{one.version}"'
        with _translated(one.address):
            try:
                answer = obstore.get(self._store, one.address.key, options=options)
            except (exceptions.PreconditionError, exceptions.NotFoundError, FileNotFoundError):
                raise changed(one.address) from None
            if _described(one.address, answer.meta) != one:
                raise changed(one.address)
            data = answer.bytes()
        if len(data) != stop - start:
            raise TransientError(f"the connection broke after {len(data):,} of {stop - start:,} bytes")
        return data

    def put(self, path: Path, address: Address) -> None:
        """Upload a file, a large one in parts."""
        with _translated(address):
            part = max(_PART, path.stat().st_size // _MOST_PARTS)
            obstore.put(self._store, address.key, path, chunk_size=part, max_concurrency=_PARTS_AT_A_TIME)

    def copy(self, source: Address, target: Address) -> None:
        """Copy an object within the bucket."""
        with _translated(target):
            obstore.copy(self._store, source.key, target.key)

    def delete(self, addresses: Sequence[Address]) -> None:
        """Delete objects; it is no error if one is gone."""
        with _translated(self.root):
            try:
                obstore.delete(self._store, [one.key for one in addresses])
            except (exceptions.NotFoundError, FileNotFoundError):
                return


def _described(address: Address, meta: Any) -> RemoteObject:
    """Describe an object; a version that no server takes for an ETag to match begins like a weak one."""
    etag = meta["e_tag"] or ""
    etag = etag if etag.startswith(_WEAK) else etag.strip('"')  # quoted in answers, but not in the lists of Azure
    version = etag or f"{_WEAK}{meta['version'] or meta['last_modified']}"
    return RemoteObject(address, int(meta["size"]), version)


def _open_s3(address: Address) -> Any:
    """Open a bucket with the settings, profiles and credentials of the AWS command line."""
    session = boto3.session.Session()
    is_public = session.get_credentials() is None
    if is_public and os.environ.get("AWS_SECRET_ACCESS_KEY"):
        reason = "AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not; set both, or neither for a public bucket"
        raise FetchError(reason, where=str(address))
    client = session.client("s3", config=Config(signature_version=UNSIGNED) if is_public else None)
    endpoint = str(client.meta.endpoint_url)
    own = urlsplit(endpoint).hostname or ""
    config: Any = {"region": session.region_name or "us-east-1"}
    if not own.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        config["endpoint"] = endpoint
    elif session.region_name is None:
        config["region"] = _region(client, address.place)
    provider: Any = None
    if is_public:
        config["skip_signature"] = True
    else:
        provider = Boto3CredentialProvider(session)
    client_options: Any = {**_CLIENT, "allow_http": endpoint.startswith("http://")}
    return S3Store(
        address.place, config=config, client_options=client_options, retry_config=_RETRIES, credential_provider=provider
    )


def _region(client: Any, bucket: str) -> str:
    """Ask in which region a bucket is: the answer has it even where it is a refusal."""
    try:
        answer = client.head_bucket(Bucket=bucket)
    except ClientError as error:
        answer = error.response
    return str(answer["ResponseMetadata"]["HTTPHeaders"].get("x-amz-bucket-region", "us-east-1"))


def _open_gs(address: Address) -> Any:
    """Open a bucket with Google's application default credentials; an emulator needs none."""
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    config: Any = {}
    if emulator:
        url = emulator if "://" in emulator else f"http://{emulator}"
        key = {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
        config = {"service_account_key": json.dumps(key)}
    client_options: Any = {**_CLIENT, "allow_http": bool(emulator)}
    return GCSStore(address.place, config=config, client_options=client_options, retry_config=_RETRIES)


def _open_az(address: Address) -> Any:
    """Open a container; abfs://CONTAINER@ACCOUNT.dfs.core.windows.net names its account, az://CONTAINER does not."""
    container, _, host = address.place.partition("@")
    config: Any = {"account_name": host.partition(".")[0]} if host else {}
    emulated = os.environ.get("AZURE_STORAGE_USE_EMULATOR", "").lower() in ("1", "true")
    plain = os.environ.get("AZURE_STORAGE_ENDPOINT", os.environ.get("AZURE_ENDPOINT", "")).startswith("http://")
    client_options: Any = {**_CLIENT, "allow_http": emulated or plain}
    return AzureStore(container, config=config, client_options=client_options, retry_config=_RETRIES)


_OPEN = {"s3": _open_s3, "gs": _open_gs, "az": _open_az}


@contextmanager
def _translated(address: Address) -> Iterator[None]:
    """Turn errors of the packages into ours; their texts may hold addresses with signatures."""
    try:
        yield
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError):
        raise FetchError(f"the server does not allow it{_advice(address)}", where=str(address)) from None
    except (exceptions.NotFoundError, FileNotFoundError):
        raise FetchError(_NOT_THERE, where=str(address)) from None
    except exceptions.BaseError as error:
        raise _error(str(error), address) from None
    except (BotoCoreError, ClientError, ValueError, OSError) as error:
        raise FetchError(without_addresses(error), where=str(address)) from None


def _advice(address: Address) -> str:
    """Say what to look at after a refusal."""
    if address.store == "s3" and boto3.session.Session().get_credentials() is None:
        return " without credentials, and none were found; set AWS_PROFILE, or the other variables of the aws command"
    return "; check the credentials, and the rights that they have here"


def _error(said: str, address: Address) -> TwinsetError:
    """Make an error of what obstore says, which is many lines: the answer of the server, or why there is none."""
    host = re.search(r"https?://([^/\s@?]+)", said)
    server = host[1] if host else "the server"
    answer = re.search(r"status code: (\d+) ?([\w -]*)", said)
    if any(code in said for code in _NO_BUCKET):
        return FetchError(_NOT_THERE, where=str(address))
    if answer is not None:
        code = re.search(r"<Code>(\w+)</Code>", said)
        words = f"{server} answers {answer[1]} {code[1] if code else answer[2].strip()}"
        if answer[1] in ("408", "429") or answer[1].startswith("5"):
            return TransientError(words)
        return FetchError(words, where=str(address))
    if "invalid path" in said:
        bad = re.search(r'Path "([^"]*)"', said)
        key = f" {bad[1]!r}" if bad else ""
        return FetchError(f"the key{key} has an empty part, . or .., which cannot be read; rename it", str(address))
    for sign, reason in _SIGNS:
        if sign in said.lower():
            return TransientError(f"{server} cannot be reached: {reason}", unreachable=True)
    if "timed out" in said.lower() or "timeout" in said.lower():
        return TransientError(f"{server} was silent for too long")
    return TransientError(without_addresses(said.split("Debug source:")[0]))
