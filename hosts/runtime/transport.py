"""HTTP to one server: JSON posts with the host's token, and plain puts to the places the server names."""

import contextlib
import json

try:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.parse import urljoin, urlsplit
    from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener
except ImportError:  # Python 2.7
    from httplib import HTTPException
    from urllib2 import HTTPError, HTTPRedirectHandler, ProxyHandler, Request, URLError, build_opener
    from urlparse import urljoin, urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class TransportError(Exception):
    """No answer came: no connection, a broken one, or silence beyond the timeout."""


class Transport(object):
    """Speaks to `base_url`. Statuses are values; only the lack of an answer is an exception.

    Raises:
        ValueError: the address isn't https, nor http on this machine; a token must not cross a network in the clear.
    """

    def __init__(self, base_url, token):
        parts = urlsplit(base_url)
        local = parts.hostname in LOOPBACK
        if parts.scheme != "https" and not (parts.scheme == "http" and local):
            raise ValueError("The address must begin with https:// (http:// only for this machine): %s" % base_url)
        self.base_url = base_url.rstrip("/")
        self._token = token
        # A proxy that is set for the internet can't reach this machine; a redirect would carry the token elsewhere.
        self._opener = build_opener(_NoRedirect(), *([ProxyHandler({})] if local else []))

    def post(self, path, body, timeout_s):
        """Post JSON to a path below the base. Returns (status, answer), the answer None where it isn't JSON."""
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + self._token}
        data = json.dumps(body).encode("ascii")
        status, answer = self._send(Request(self.base_url + path, data=data, headers=headers), timeout_s)
        try:
            return status, json.loads(answer.decode("utf-8"))
        except ValueError:
            return status, None

    def put(self, url, data, headers, timeout_s):
        """Put bytes to an address the server gave, without our token. Returns the status."""
        request = Request(urljoin(self.base_url + "/", url), data=data, headers=headers)
        request.get_method = lambda: "PUT"
        return self._send(request, timeout_s)[0]

    def _send(self, request, timeout_s):
        try:
            return self._open(request, timeout_s)
        except (URLError, HTTPException, EnvironmentError, ValueError) as error:
            raise TransportError("%s: %s" % (type(error).__name__, error))  # noqa: B904 - 2.7 has no `from`

    def _open(self, request, timeout_s):
        try:
            answer = self._opener.open(request, timeout=timeout_s)
        except HTTPError as error:
            answer = error
        with contextlib.closing(answer):
            return answer.getcode(), answer.read()


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None
