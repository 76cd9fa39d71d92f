"""Templates and static files: read from the package when a server starts, never by a path from a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twinset.web.answers import Refused
from twinset.web.framework import FastAPI, HTMLResponse, Request, Response, jinja2

_HERE = Path(__file__).parent
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


class Pages:
    """The templates of an application, in its folder ``templates``, and the shared ones.

    Every value is escaped. `nonce` is what scripts and styles of the page need: ``<script nonce="{{ nonce }}">``.
    """

    def __init__(self, folder: Path) -> None:
        folders = [folder / "templates", _HERE / "templates"]
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folders),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def answer(self, request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page made from a template."""
        return HTMLResponse(self.render(request, name, **values), status)

    def render(self, request: Request, name: str, **values: Any) -> str:
        """Return the text of a page, or of a part of one."""
        state = request.scope["state"]
        known = {"nonce": state["nonce"], "right": state.get("right"), "user": state.get("user", "")}
        return self._environment.get_template(name).render(**known, **values)


def add_static_files(app: FastAPI, folder: Path) -> None:
    """Serve the files of the folder ``static`` of an application, and the shared ones, below ``/static/``."""
    files = {
        path.name: (path.read_bytes(), _TYPES[path.suffix])
        for one in (_HERE / "static", folder / "static")
        for path in sorted(one.glob("*"))
        if path.suffix in _TYPES
    }

    async def static_file(name: str) -> Response:
        if name not in files:
            raise Refused(404, "not_found", "there is no such file")
        content, media_type = files[name]
        return Response(content, media_type=media_type)

    app.add_api_route("/static/{name}", static_file, methods=["GET"], include_in_schema=False)
