"""Options of the commands that run a server: review and serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option

__all__ = ["ServeOptions", "WebOptions"]


@dataclass(frozen=True, kw_only=True)
class WebOptions(Options):
    """The options of every server."""

    title: ClassVar[str] = "Server"

    port: int = option(
        0, "Port to listen at.", checks.whole(0, 65535), "N", default_text="a free one", result=False, common=True
    )
    host: str = option(
        "127.0.0.1",
        "Address to listen at. One that other machines reach needs a token.",
        checks.text("an address"),
        "ADDRESS",
        result=False,
        common=True,
    )
    public_url: str | None = option(
        None,
        "URL under which a reverse proxy offers the server; requests with its name are let in.",
        checks.text("a URL"),
        "URL",
        result=False,
    )
    token: str | None = option(
        None,
        "Token that requests need. Other users of the machine can see it; a file or the environment hides it.",
        checks.text("a token, at least one character"),
        "TOKEN",
        default_text="drawn at random, and part of the printed URL",
        result=False,
        common=True,
    )
    token_file: str | None = option(
        None, "File with the token.", checks.text("the path of a file"), "FILE", result=False, common=True
    )
    tokens: str | None = option(
        None,
        "File of tokens with rights: a line for each, with the right (read or write), the token and a name.",
        checks.text("the path of a file"),
        "FILE",
        result=False,
        common=True,
    )
    browser: bool = option(
        True, "Open a browser.", checks.switch, off_help="Open no browser.", result=False, common=True
    )

    def _check_together(self) -> None:
        super()._check_together()
        given = [f"--{name.replace('_', '-')}" for name in ("token", "token_file", "tokens") if getattr(self, name)]
        if len(given) > 1:
            raise OptionError(f"{' and '.join(given)} both name tokens; leave one of them out")


@dataclass(frozen=True, kw_only=True)
class ServeOptions(WebOptions):
    """The options of ``twinset serve``."""

    port: int = option(
        8080, "Port to listen at; 0 takes a free one.", checks.whole(0, 65535), "N", result=False, common=True
    )
    read_only: bool = option(
        False, "Refuse to add and remove documents.", checks.switch, result=False, common=True
    )
    body: int = option(
        32_000_000,
        "Maximum size of a JSON body, and of a line of a stream.",
        checks.size(1024, 2**30),
        "SIZE",
        result=False,
    )
    documents: int = option(
        100_000, "Maximum number of documents in a JSON body.", checks.whole(1, 10_000_000), "N", result=False
    )
    length: int = option(16_000_000, "Maximum size of a text.", checks.size(1, 2**30), "SIZE", result=False)
    seconds: int = option(60, "Maximum time of a request.", checks.whole(1, 86_400), "SECONDS", result=False)
    requests: int = option(
        256,
        "Requests that are worked on at once; one token may have a quarter of them.",
        checks.whole(4, 100_000),
        "N",
        result=False,
    )
    log_texts: bool = option(
        False, "Write texts of queries and ids to the log.", checks.switch, result=False
    )
