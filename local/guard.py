"""Keeps other sites' pages out of servers on loopback.

A browser lets any page send requests to 127.0.0.1, and a name that resolves to it (DNS rebinding) makes them look like
the page's own. Both show in headers that a page can't forge: Origin and Host.
"""

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class LoopbackGuard:
    """Lets a request through when its Host is this server on loopback and its Origin, if any, is the same.

    Args:
        port: the port this server listens on.
        pages: whether this server has a page of its own, which may send its own Origin.
    """

    def __init__(self, app: ASGIApp, port: int, *, pages: bool) -> None:
        self.app = app
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts} if pages else set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(Headers(scope=scope))):
            problem = {"type": "about:blank", "title": "Not from here", "status": 403, "detail": refusal}
            await JSONResponse(problem, 403, media_type="application/problem+json")(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refusal(self, headers: Headers) -> str | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return f"This server answers to {', '.join(sorted(self.hosts))} only, not to {host!r}."
        if origin is not None and origin not in self.origins:
            return f"Pages of {origin!r} may not use this server."
        return None
