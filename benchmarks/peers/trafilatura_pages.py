"""trafilatura's text of the main content of pages, without comments: its fast mode, and its default with fallbacks."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

import logging
import os

import trafilatura

from benchmarks.peers.pages_contest import run

FAST = os.environ.get("TRAFILATURA_FAST") == "1"


def extract(page: bytes) -> str:
    return trafilatura.extract(page, include_comments=False, fast=FAST) or ""


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    run(extract)
