"""What the two plain functions share: bodies in, problem documents out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

from aws_lambda_powertools.event_handler import LambdaFunctionUrlResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.utilities.data_classes import LambdaFunctionUrlEvent
from pydantic import BaseModel, ValidationError

from drafthand.errors import CallerError

logger = logging.getLogger(__name__)
Body = TypeVar("Body", bound=BaseModel)

BODY_MAX_BYTES = 5_500_000
"""A function URL takes 6 MB; what is larger goes to the bucket by upload."""


def json_response(status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response[str]:
    kind = "application/problem+json" if status >= 400 else "application/json"
    return Response(status_code=status, content_type=kind, body=json.dumps(body), headers=dict(headers or {}))


_event: ContextVar[LambdaFunctionUrlEvent] = ContextVar("event")


class _Resolver(LambdaFunctionUrlResolver):
    """Powertools keeps the event of the moment on a class, for all its resolvers and threads; Lambda sends one request
    at a time, a server of our own does not."""

    @property
    def current_event(self) -> LambdaFunctionUrlEvent:  # type: ignore[override]
        return _event.get()

    def resolve(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        _event.set(LambdaFunctionUrlEvent(dict(event)))
        return super().resolve(event, context)


def make_resolver() -> LambdaFunctionUrlResolver:
    """A Powertools resolver that answers every error with an RFC 9457 problem document."""
    app = _Resolver()

    @app.exception_handler(CallerError)  # type: ignore[untyped-decorator]
    def caller_error(error: CallerError) -> Response[str]:
        return json_response(error.status, error.problem(), error.headers())

    @app.exception_handler(Exception)  # type: ignore[untyped-decorator]
    def our_error(error: Exception) -> Response[str]:
        logger.error("%s failed", app.current_event.path, exc_info=error)
        return json_response(500, CallerError(500, "Internal error", "Something went wrong on our side.").problem())

    @app.not_found
    def no_route(error: NotFoundError) -> Response[str]:
        event = app.current_event
        return json_response(404, CallerError(404, "Not Found", f"{event.http_method} {event.path}").problem())

    return app


def headers(app: LambdaFunctionUrlResolver) -> dict[str, str]:
    """The request's headers with lower-case names."""
    return {name.lower(): value for name, value in (app.current_event.headers or {}).items()}


def body(app: LambdaFunctionUrlResolver, model: type[Body]) -> Body:
    """The validated body. Raises CallerError 400, 413 or 422 naming the field at fault."""
    text = app.current_event.decoded_body or ""
    if len(text) > BODY_MAX_BYTES:
        detail = f"A body may have {BODY_MAX_BYTES:,} bytes. Upload large parts and send their hashes."
        raise CallerError(413, "Too large", detail, "body")
    try:
        # Lone surrogates are legal in JSON's escapes and nowhere else: a file name that isn't UTF-8 brings them.
        clean = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
        return model.model_validate(json.loads(clean))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "body"
        raise CallerError(422, "Invalid request", f"{field}: {first['msg']}.", field) from error
    except (ValueError, RecursionError) as error:
        raise CallerError(400, "Not JSON", f"The body is not valid JSON: {error}.", "body") from error
