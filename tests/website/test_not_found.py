"""The page for addresses without a page is readable at any address, and leads back, wherever the site is."""

from __future__ import annotations

import functools
import http.server
import threading
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.report.browser import Browser

ROOT = Path(__file__).resolve().parents[2]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder that has the site in it, as code hosts do."""

    page = b""

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def send_error(self, code: int, *words: Any) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if self.command == "GET" and code == HTTPStatus.NOT_FOUND:
            self.wfile.write(self.page)


def test_a_page_that_is_not_there_leads_to_the_first_page(browser: Browser, tmp_path: Path) -> None:
    for name in ("a site/index.html", "a site/llms.txt", "a site/recipes/one.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"<!doctype html><title>Twinset</title>{name}", "utf-8")
    Handler.page = (ROOT / "website" / "404.html").read_bytes()
    handler = functools.partial(Handler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = f"http://127.0.0.1:{server.server_address[1]}"
        root = f"{host}/a%20site"
        browser.size(390, 900, dark=True)
        for asked in ("none.html", "recipes/none.html", "no/such/folder/none"):
            browser.visit(f"{root}/{asked}")
            browser.wait("document.querySelector('a').href !== ''")
            assert browser.text("h1") == "No such page"
            others = {one for one in browser.requests() if not one.endswith("/llms.txt")}
            assert others <= {f"{root}/{asked}", f"{host}/favicon.ico"}
            browser.click("a")
            browser.wait("document.readyState === 'complete' && location.pathname.endsWith('/index.html')")
            assert browser.address == f"{root}/index.html"
        server.shutdown()
