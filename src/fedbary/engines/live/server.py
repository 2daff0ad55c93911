"""`LiveServer`: a small web server that shows one run to whoever knows its token, and nothing else."""

from __future__ import annotations

import hmac
import ipaddress
import json
import os
import secrets
import shutil
import socket
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, cast
from urllib.parse import urlsplit

from fedbary.engines.live.page import REPORT_POLICY, live_page
from fedbary.engines.live.watched import Watched
from fedbary.errors import SettingsError

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SILENT = "default-src 'none'; frame-ancestors 'none'"
_PATIENCE = 10.0  # seconds without a byte
_LONGEST = 60.0  # seconds for a request and its answer together, however steadily they drip
_MOST_AT_ONCE = 64


class LiveServer:
    """Serves the live page, the state as JSON, and in the end the report, under a random path.

    Parameters
    ----------
    folder : path
        The run's output folder.
    host : str
        Where to listen.
    port : int
        0: any free port.

    Examples
    --------
    >>> import tempfile
    >>> with LiveServer(Path(tempfile.mkdtemp())) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, folder: Path, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._watched, self._lock = Watched(folder), threading.Lock()
        self._token = secrets.token_urlsafe(24)
        self._host = host
        self.last_request = time.monotonic()
        try:
            self._http = _Server(host, port)
        except (OSError, OverflowError, UnicodeError) as error:
            raise SettingsError(f"Nothing can listen on {host}, port {port} ({error}): choose another.") from error
        self._http.live = self
        self.port = int(self._http.server_address[1])
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    @property
    def url(self) -> str:
        """The address of the live page on this machine, with the token."""
        address = _address(self._host)
        named = f"[{self._host}]" if address is not None and address.version == 6 else self._host
        if address is not None and address.is_unspecified:
            named = "127.0.0.1" if address.version == 4 else "[::1]"
        return f"http://{named}:{self.port}/{self._token}/"

    def __enter__(self) -> LiveServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def knows(self, token: str) -> bool:
        """Whether this is the token, in a time that does not tell how much of it is right."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())

    def is_called(self, host: str) -> bool:
        """Whether a Host header names this server: a page elsewhere may point a name of its own at this machine."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if port != self.port or parts.username is not None:
            return False
        chosen = _address(self._host)
        anywhere = chosen is not None and chosen.is_unspecified
        # An address cannot be pointed elsewhere, so any will do where all of the machine's are listened on.
        ours = ("127.0.0.1", "localhost", "::1", self._host.lower())
        return name in ours or (anywhere and _address(name) is not None)

    def state(self) -> bytes:
        """The run as JSON."""
        with self._lock:
            for _ in self._watched.look():
                pass
            return json.dumps({**self._watched.to_dict(), "now": time.time()}, allow_nan=False).encode()

    def report(self) -> Path | None:
        """The finished run's report."""
        with self._lock:
            for _ in self._watched.look():
                pass
            return self._watched.report


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = _MOST_AT_ONCE
    live: LiveServer

    def __init__(self, host: str, port: int) -> None:
        self._open: dict[socket.socket, float] = {}
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own; of too many, the one that has lasted longest gives way."""
        if len(self._open) >= _MOST_AT_ONCE:
            self._break_off(next(iter(self._open)))
        self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection, and close it."""
        self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Break off connections that last too long."""
        late = time.monotonic() - _LONGEST
        for request in [one for one, begun in list(self._open.items()) if begun < late]:
            self._break_off(request)

    def _break_off(self, request: socket.socket) -> None:
        """Wake the thread that reads from the connection or writes to it; it then closes it."""
        self._open.pop(request, None)
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def server_bind(self) -> None:
        """Bind without asking the network what this machine is called."""
        TCPServer.server_bind(self)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of connections that broke off."""


class _Handler(BaseHTTPRequestHandler):
    timeout = _PATIENCE
    server_version, sys_version = "fedbary", ""

    def do_GET(self) -> None:
        live = cast(_Server, self.server).live
        if not live.is_called(self.headers.get("Host", "")):
            return self.send_error(HTTPStatus.FORBIDDEN)
        # Nothing is decoded: a path is one of these to the letter, or there is nothing.
        token, slash, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not live.knows(token):
            return self.send_error(HTTPStatus.NOT_FOUND)
        live.last_request = time.monotonic()
        if slash and not name:
            page = live_page()
            return self._send("text/html; charset=utf-8", page.html, page.policy)
        if name == "state.json":
            return self._send("application/json", live.state(), _SILENT)
        if name == "report.html":
            return self._send_report(live.report())
        return self.send_error(HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse without a word about what there is."""
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self._send("text/plain; charset=utf-8", f"{status.phrase}\n".encode(), _SILENT, status)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep no log: every line of it would hold the token."""

    def _send_report(self, path: Path | None) -> None:
        try:
            file = None if path is None else path.open("rb")
        except OSError:  # a new run is about to replace it
            file = None
        if file is None:
            return self.send_error(HTTPStatus.NOT_FOUND)
        with file:
            self._head("text/html; charset=utf-8", os.fstat(file.fileno()).st_size, REPORT_POLICY)
            if self.command != "HEAD":
                shutil.copyfileobj(file, self.wfile)
        return None

    def _send(self, kind: str, content: bytes, policy: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._head(kind, len(content), policy, status)
        if self.command != "HEAD":
            self.wfile.write(content)

    def _head(self, kind: str, length: int, policy: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(length), "Content-Security-Policy": policy}
        for name, value in {**headers, **_HEADERS, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
