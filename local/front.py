"""One localhost server for the three functions and the page, with the routes that CloudFront has on AWS.

The run function is mounted as it is. The two plain ones get real function-URL events (payload format 2.0), for that
is all they know.
"""

import base64
import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from functions.host_poll.handler import handle as host_poll
from functions.run.app import app as run_app
from functions.run.app import lifespan
from functions.tool_result.handler import handle as tool_result
from local.guard import LoopbackGuard

PAGE = Path(__file__).parent.parent / "clients" / "web" / "dist"
BODY_MAX_BYTES = 6_000_000
"""The limit of a function URL's request."""
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
PAGE_HEADERS = {"Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]

_waiting = anyio.CapacityLimiter(100)
"""An idle host's poll is held in a thread; they must not starve the threads that everything else uses."""


def function_url_event(request: Request, body: bytes) -> dict[str, Any]:
    """The event a function URL makes of a request: payload format 2.0, lower-case header names, body in base64."""
    at = time.time()
    host = request.headers.get("host", "")
    query = request.url.query
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": request.url.path,
        "rawQueryString": query,
        "headers": dict(request.headers),
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "local",
            "domainName": host,
            "domainPrefix": host.partition(".")[0],
            "http": {
                "method": request.method,
                "path": request.url.path,
                "protocol": "HTTP/1.1",
                "sourceIp": request.client.host if request.client else "127.0.0.1",
                "userAgent": request.headers.get("user-agent", ""),
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": "$default",
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(at)),
            "timeEpoch": int(at * 1000),
        },
        "isBase64Encoded": True,
        "body": base64.b64encode(body).decode(),
    }
    if query:
        event["queryStringParameters"] = {
            name: ",".join(request.query_params.getlist(name)) for name in request.query_params
        }
    return event


def response_of(answer: dict[str, Any]) -> Response:
    """The HTTP response a function URL makes of a handler's answer."""
    body = answer.get("body") or ""
    data = base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()
    headers = dict(answer.get("headers") or {})
    return Response(data, status_code=answer["statusCode"], headers=headers)


def plain(handler: Handler) -> Callable[[Request], Any]:
    """An endpoint that invokes a plain function in a thread."""

    async def endpoint(request: Request) -> Response:
        body = await request.body()
        if len(body) > BODY_MAX_BYTES:
            problem = {"type": "about:blank", "title": "Too large", "status": 413, "detail": "At most 6 MB are taken."}
            return Response(json.dumps(problem), 413, media_type="application/problem+json")
        event = function_url_event(request, body)
        return response_of(await anyio.to_thread.run_sync(handler, event, None, limiter=_waiting))

    return endpoint


class Page(StaticFiles):
    """The built page, under the policy that CloudFront sends."""

    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(PAGE_HEADERS)
        return response


async def no_page(request: Request) -> Response:
    return PlainTextResponse("The page is not built. Run `make setup`.\n", 404)


def make_app(port: int, page: Path = PAGE) -> Starlette:
    """The whole API and the page, for a server that listens on `port`."""
    methods = ["GET", "POST", "PUT", "DELETE"]
    routes = [
        Route("/api/runs/{run}/calls/{call}/{verb}", plain(tool_result), methods=methods),
        Route("/api/runs/{run}/cancel", plain(tool_result), methods=methods),
        Route("/api/runs/{run}/messages", plain(tool_result), methods=methods),
        Route("/api/hosts/{rest:path}", plain(host_poll), methods=methods),
        *run_app.routes,
        Mount("/", Page(directory=page, html=True)) if page.is_dir() else Route("/", no_page),
    ]
    middleware = [Middleware(LoopbackGuard, port=port, pages=True)]
    handlers = run_app.exception_handlers
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers, lifespan=lifespan)
