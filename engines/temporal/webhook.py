"""Receives the service's webhook, under a path that is secret."""

import asyncio
import hmac
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LONGEST = 1 << 20
Receive = Callable[[str], Coroutine[Any, Any, int]]


class TooLarge(ValueError):
    """The body exceeds the bound."""


def server(port: int, secret: str, receive: Receive) -> ThreadingHTTPServer:
    """Returns a server on loopback that answers with the status that `receive` returns."""
    loop = asyncio.get_running_loop()

    class Webhook(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def refusal(self) -> HTTPStatus | None:
            """Returns why the body need not be read."""
            if not hmac.compare_digest(self.path.encode(), f"/{secret}".encode()):
                return HTTPStatus.NOT_FOUND
            if self.headers.get("content-encoding", "identity") != "identity":
                return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
            length = self.headers.get("content-length", "0")
            if not length.isdecimal():
                return HTTPStatus.BAD_REQUEST
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if int(length) > LONGEST else None

        def handle_expect_100(self) -> bool:
            # One that is refused is answered at once, and not asked for its body.
            return True if self.refusal() else super().handle_expect_100()

        def do_POST(self) -> None:
            status: int | None = self.refusal()
            try:
                delivery = b"" if status else self.body()
            except TooLarge:
                status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            except ValueError:
                status = HTTPStatus.BAD_REQUEST
            if status is None:
                work = receive(delivery.decode(errors="replace"))
                status = asyncio.run_coroutine_threadsafe(work, loop).result()
            self.send_response(status)
            self.send_header("connection", "close")
            self.send_header("content-length", "0")
            self.end_headers()

        def body(self) -> bytes:
            if self.headers["transfer-encoding"] is None:
                return self.rfile.read(int(self.headers["content-length"] or 0))
            body = b""
            while size := int(self.rfile.readline(20), 16):  # of a chunk
                if len(body) + size > LONGEST:
                    raise TooLarge
                body += self.rfile.read(size)
                self.rfile.readline(2)
            self.rfile.readline(2)
            return body

        def log_message(self, *_: object) -> None:
            """Logs nothing: the path is secret."""

    return ThreadingHTTPServer(("127.0.0.1", port), Webhook)
