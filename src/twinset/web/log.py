"""The log of requests: one line each on stderr, without texts, ids or tokens."""

from __future__ import annotations

import logging
import sys
import traceback

from twinset.web.framework import Scope

logger = logging.getLogger("twinset.web")


def log_to_stderr() -> None:
    """Write the log of this process to stderr, a line for each record."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logging.getLogger("uvicorn").handlers[:] = [handler]
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


class RequestLog:
    """Logs requests by their route; `texts` adds their paths, which hold ids, and what the application notes."""

    def __init__(self, *, texts: bool = False) -> None:
        self.texts = texts

    def request(self, scope: Scope, status: int, seconds: float, size: int, problem: str) -> None:
        """Log an answered request."""
        if not logger.isEnabledFor(logging.INFO):
            return
        state = scope["state"]
        path = repr(scope["path"]) if self.texts else getattr(scope.get("route"), "path", "-")
        note = f" {state['note']}" if self.texts and "note" in state else ""
        logger.info(
            "%s %s %s %s %d %.1fms %dB%s%s", state["request_id"], state.get("user") or "-", scope["method"], path,
            status, 1000 * seconds, size, f" {problem}" if problem else "", note,
        )  # fmt: skip

    def failure(self, request_id: str, error: Exception) -> None:
        """Log an error that nobody expected: where it arose, and its message only if texts are logged."""
        frames = traceback.extract_tb(error.__traceback__)
        where = " < ".join(f"{one.filename.rpartition('/')[2]}:{one.lineno} {one.name}" for one in reversed(frames))
        message = f": {error!r}" if self.texts else ""
        logger.error("%s internal error %s%s at %s", request_id, type(error).__name__, message, where)
