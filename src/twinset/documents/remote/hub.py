"""Repositories of the Hugging Face hub, by huggingface_hub: read at one commit, written by one commit."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from twinset.documents.remote.stores import (
    CommittedStore,
    RemoteObject,
    TransientError,
    changed,
    without_addresses,
)
from twinset.errors import FetchError, MissingError
from twinset.system import batch_sizes
from twinset.system.addresses import Address

try:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, hf_hub_url
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )
    from huggingface_hub.hf_api import RepoFile
    from huggingface_hub.utils import build_hf_headers, disable_progress_bars, hf_raise_for_status, http_backoff
except ImportError as error:
    raise MissingError("addresses of the hub need huggingface_hub: pip install 'twinset[remote]'") from error

_KINDS = {"datasets": "dataset", "spaces": "space"}
_REPEATED = (408, 429, 500, 502, 503, 504)
_REFUSED = (401, 403)


class HubStore(CommittedStore):
    """One repository, as it was when it was first looked at."""

    def __init__(self, address: Address) -> None:
        parts = address.place.split("/")
        self.root = address.at("")
        self.kind = _KINDS.get(parts[0], "model")
        name, _, revision = "/".join(parts[-2:]).partition("@")
        self.name, self.revision = name, revision.replace("%2F", "/") or "main"
        self._api = HfApi(user_agent="twinset")
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it warns of a missing token, and shows addresses
        disable_progress_bars()

    @cached_property
    def _commit(self) -> str:
        """The commit that is read: what is committed later is another version."""
        with _translated(self.root):
            info: Any = self._api.repo_info(self.name, revision=self.revision, repo_type=self.kind)
        return str(info.sha)

    def find(self, address: Address) -> RemoteObject | None:
        """Look for a file."""
        with _translated(address):
            found = self._api.get_paths_info(self.name, [address.key], revision=self._commit, repo_type=self.kind)
        return next((self._described(one) for one in found if isinstance(one, RepoFile)), None)

    def list(self, address: Address) -> Iterator[RemoteObject]:
        """List files below a folder."""
        folder = address.key.strip("/") or None
        with _translated(address):
            try:
                tree = self._api.list_repo_tree(
                    self.name, folder, recursive=True, revision=self._commit, repo_type=self.kind
                )
                yield from (self._described(one) for one in tree if isinstance(one, RepoFile))
            except EntryNotFoundError:
                return

    def read(self, one: RemoteObject, start: int, stop: int) -> Any:
        """Read a range of a file at the commit."""
        url = hf_hub_url(self.name, one.address.key, repo_type=self.kind, revision=self._commit)
        headers = {"range": f"bytes={start}-{stop - 1}", **build_hf_headers(user_agent="twinset")}
        with _translated(one.address):
            answer = http_backoff("GET", url, headers=headers, max_retries=0, timeout=batch_sizes.FETCH_SILENCE)
            hf_raise_for_status(answer)
        data: bytes = answer.content
        if answer.status_code == 200 and len(data) == one.size:
            return data[start:stop]
        if answer.headers.get("content-range", f"/{one.size}").rpartition("/")[2] != str(one.size):
            raise changed(one.address)
        if len(data) != stop - start:
            raise TransientError(f"the connection broke after {len(data):,} of {stop - start:,} bytes")
        return data

    def commit(self, files: Sequence[tuple[Path, Address]], deleted: Sequence[Address], message: str) -> None:
        """Upload files and delete others in one commit; only text files are stored in it, others as large files."""
        added = [CommitOperationAdd(address.key, path) for path, address in files]
        gone = [CommitOperationDelete(address.key) for address in deleted]
        with _translated(self.root):
            self._api.create_commit(
                self.name, [*added, *gone], commit_message=message, repo_type=self.kind, revision=self.revision
            )

    def _described(self, one: RepoFile) -> RemoteObject:
        version = one.lfs.sha256 if one.lfs is not None else one.blob_id
        return RemoteObject(self.root.at(one.path), one.size, version)


@contextmanager
def _translated(address: Address) -> Iterator[None]:
    """Turn errors of the package into ours; their texts hold addresses."""
    try:
        yield
    except GatedRepoError:
        reason = "its owner gives access on request: ask for it on its page, and log in (HF_TOKEN)"
        raise FetchError(reason, where=str(address)) from None
    except RevisionNotFoundError:
        raise FetchError("the repository has no such revision", where=str(address)) from None
    except RepositoryNotFoundError:
        reason = "there is no such repository, or the token (HF_TOKEN) may not see it"
        raise FetchError(reason, where=str(address)) from None
    except EntryNotFoundError:
        raise FetchError("there is no such file in the repository", where=str(address)) from None
    except HfHubHTTPError as error:
        code = getattr(error.response, "status_code", 0)
        if code in _REFUSED:
            raise FetchError("the hub does not allow it; check HF_TOKEN and its rights", where=str(address)) from None
        if code in _REPEATED:
            raise TransientError(f"the hub answers {code}") from None
        raise FetchError(f"the hub answers {code}", where=str(address)) from None
    except (FetchError, TransientError):
        raise
    except (OSError, ValueError) as error:
        raise FetchError(without_addresses(error), where=str(address)) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2"):
            raise
        lost = type(error).__name__ in ("ConnectError", "ConnectTimeout")
        raise TransientError(f"the hub cannot be reached: {without_addresses(error)}", unreachable=lost) from None
