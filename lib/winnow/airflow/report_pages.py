"""Serves the pages of the lake to people who are logged in to Airflow: reports, Data Docs, and their index."""

import re
from pathlib import PurePosixPath

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import get_user
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.security import HTTPBearer

from winnow.airflow.settings import LAKE
from winnow.spark.places import Place
from winnow.tables.lake import Lake

_PAGE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.html")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",  # the newest page of a date keeps its name
}
app = FastAPI(title="Winnow reports", docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/{name}")
async def page(name: str, request: Request) -> Response:
    """Returns a page by its name; who is not logged in is asked to."""
    try:
        await get_user(request, None, await HTTPBearer(auto_error=False)(request))
    except HTTPException as refusal:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        login = get_auth_manager().get_url_login(next_url=str(request.url))
        return RedirectResponse(login) if refusal.status_code == 401 else Response(status_code=refusal.status_code)
    content = read_page(name)
    if content is None:
        return HTMLResponse("<p>There is no such page yet.</p>", 404, _HEADERS)
    return HTMLResponse(content, 200, _HEADERS)


@app.get("/")
async def index() -> Response:
    return RedirectResponse("index.html")


def read_page(name: str) -> bytes | None:
    """Returns the content of a page of the lake; None for what is none, or none yet."""
    if not _PAGE.fullmatch(name) or PurePosixPath(name).name != name:
        return None
    lake = Lake.at(LAKE)
    try:
        with Place(lake.report_location, lake.filesystem_options).open_input(name) as stream:
            return bytes(stream.read())
    except FileNotFoundError:
        return None
