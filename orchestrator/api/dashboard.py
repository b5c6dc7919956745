"""The dashboard's files. It is a client of this API like any other: built at install, nothing of it decides.

A page may load scripts and styles from here only, none of them inline, and talk to nobody else.
"""

from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

BUNDLE: Final = Path(__file__).parents[1] / "dashboard" / "dist"

PAGES: Final = (
    "/",
    "/sign-in",
    "/jobs",
    "/jobs/{job}",
    "/queue",
    "/fleet",
    "/usage",
    "/admin",
)
"""Addresses that the application itself draws; all others are not found."""

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}

_NOT_BUILT: Final = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Podwright: the dashboard is not built</title></head>
<body>
<h1>The dashboard is not built</h1>
<p>The control plane runs, and the API answers under <a href="/api/v1/version">/api/v1</a>.
What is missing is the bundle of this page, which the installation builds where it can reach the npm registry.</p>
<p>To build it, in the folder of the checkout:</p>
<pre>make dashboard</pre>
<p>Then load this page again; the server need not be started anew.
Meanwhile the command line shows the same: <code>podwright jobs</code>, <code>podwright watch</code>.</p>
</body>
</html>
"""


class _Assets(StaticFiles):
    """Their names hold a hash of what is in them: what has been fetched once is good for ever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers.update(_HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"})
        return answer


def install(app: FastAPI, bundle: Path = BUNDLE) -> None:
    """Serve the dashboard of `bundle` under `/`; while it is not built, a page that says so."""
    router = APIRouter(include_in_schema=False)

    async def page(_request: Request) -> Response:
        headers = _HEADERS | {"Cache-Control": "no-cache"}
        index = bundle / "index.html"
        if index.is_file():
            return FileResponse(index, headers=headers)
        return HTMLResponse(_NOT_BUILT, 503, headers=headers)

    for path in PAGES:
        router.add_route(path, page, ["GET"], include_in_schema=False)
    app.include_router(router)
    app.mount("/assets", _Assets(directory=bundle / "assets", check_dir=False))
