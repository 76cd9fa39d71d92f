"""text-dedup with the faster of the hashes it documents; otherwise as `text_dedup_minhash`."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from functools import partial

import datasets
from text_dedup.utils.hashfunc import xxh3_32hash

from benchmarks.peers.contest import run
from benchmarks.peers.text_dedup_minhash import find

if __name__ == "__main__":
    datasets.disable_progress_bars()
    run(partial(find, hash_func=xxh3_32hash))
