"""Tokens and the addresses of a server: what is allowed, and what the errors say."""

from __future__ import annotations

from pathlib import Path

import pytest

import twinset
from twinset.web.origins import Origins, is_loopback
from twinset.web.serving import bind, check_exposure, url_of
from twinset.web.tokens import Tokens

GOOD = "0123456789abcdef"


def test_a_random_token_is_long_and_in_the_url() -> None:
    tokens, others = Tokens.given(), Tokens.given()
    assert tokens.first != others.first
    assert len(tokens.first) >= 43
    with bind() as listening:
        assert url_of(listening, tokens).endswith(f"/?token={tokens.first}")
        assert "token" not in url_of(listening, Tokens.given(GOOD))
        assert url_of(listening, tokens, "https://x.example/") == f"https://x.example/?token={tokens.first}"


def test_rights() -> None:
    token = Tokens.given(GOOD).find(GOOD)
    assert token is not None
    assert token.may("write")
    assert Tokens.given(GOOD).of_cookie(token.cookie) == token
    assert Tokens.given(GOOD).of_cookie(GOOD) is None
    assert Tokens.given(GOOD).find("ü" * 16) is None


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"# who\nread {GOOD} the dashboard\n\nwrite {GOOD}2\n")
    tokens = Tokens.given(tokens=str(path))
    reader, writer = tokens.find(GOOD), tokens.find(GOOD + "2")
    assert reader is not None
    assert writer is not None
    assert (reader.right, reader.name, writer.right) == ("read", "the dashboard", "write")
    path.write_text(f"\n{GOOD}\n")
    assert Tokens.given(token_file=str(path)).first == GOOD


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no token"),
        (f"own {GOOD}", "write the right"),
        ("read short", "16 to 256"),
        (f"read {GOOD} a\nwrite {GOOD} b", "twice"),
        ("read", "16 to 256"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(twinset.OptionError, match=said) as error:
        Tokens.given(tokens=str(path))
    assert GOOD not in str(error.value)


def test_wrong_tokens(tmp_path: Path) -> None:
    for given in ({"token": "short"}, {"token": "has space " * 3}, {"token_file": str(tmp_path / "none")}):
        with pytest.raises(twinset.OptionError):
            Tokens.given(**given)
    (tmp_path / "two").write_text(f"{GOOD}\n{GOOD}2\n")
    with pytest.raises(twinset.OptionError, match="16 to 256"):
        Tokens.given(token_file=str(tmp_path / "two"))
    with pytest.raises(twinset.OptionError, match="token= and tokens="):
        Tokens.given(token=GOOD, tokens="x")


def test_other_addresses_need_a_token() -> None:
    check_exposure("127.0.0.1", Tokens.random())
    check_exposure("0.0.0.0", Tokens.given(GOOD))
    for host in ("0.0.0.0", "::", "192.0.2.1", "server.example"):
        with pytest.raises(twinset.OptionError, match="token"):
            check_exposure(host, Tokens.random())
    assert is_loopback("::1")
    assert not is_loopback("0.0.0.0")


def test_names() -> None:
    local, everywhere = Origins(), Origins("0.0.0.0", "https://search.example")
    assert not local.knows("192.0.2.7", "192.0.2.7")
    assert everywhere.knows("192.0.2.7:80", "192.0.2.7")
    assert not everywhere.knows("192.0.2.8", "192.0.2.7")
    assert everywhere.knows("search.example", "192.0.2.7")
    assert everywhere.is_encrypted
    assert not Origins(public_url="http://search.example").is_encrypted
    for url in ("search.example", "ftp://x", "https://x/path", "https://x?q"):
        with pytest.raises(twinset.OptionError, match="public_url"):
            Origins(public_url=url)


def test_a_port_in_use() -> None:
    with bind() as listening, pytest.raises(twinset.OutputError, match="port="):
        bind(port=listening.getsockname()[1])
    with pytest.raises(twinset.OutputError, match="cannot listen"):
        bind("no-such-host.invalid")
