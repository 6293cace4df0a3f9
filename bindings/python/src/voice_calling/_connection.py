"""A connection of the package's own. It is in a transport of httpx, which others may observe, in
place of a pool: a pool takes longer for each request the more of them share it. httpx would also
send the head of a request and its body one after the other, and wake the service twice."""

from __future__ import annotations

import contextlib
import ssl
from functools import partial
from typing import Any

import httpcore
import httpx


class Connection(httpx.HTTPTransport):
    """A connection for threads, which is made again if the service has closed it, or may be about
    to, since it was idle for long."""

    def __init__(self, url: httpx.URL, verify: ssl.SSLContext, longest_idle_s: float) -> None:
        super().__init__(verify=verify)
        self._backend = _Backend()
        self._connect = partial(
            httpcore.HTTPConnection,
            _origin(url),
            verify,
            keepalive_expiry=longest_idle_s,
            network_backend=self._backend,
        )
        self._pool: Any = self._connect()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if _is_spent(self._pool):
            self._pool.close()
            self._pool = self._connect()
        self._backend.exchange = request.extensions["voice_calling_exchange"]
        return super().handle_request(request)


class AsyncConnection(httpx.AsyncHTTPTransport):
    """A connection for coroutines."""

    def __init__(self, url: httpx.URL, verify: ssl.SSLContext, longest_idle_s: float) -> None:
        super().__init__(verify=verify)
        self._connect = partial(
            httpcore.AsyncHTTPConnection,
            _origin(url),
            verify,
            keepalive_expiry=longest_idle_s,
            network_backend=_AsyncBackend(),
        )
        self._pool: Any = self._connect()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if _is_spent(self._pool):
            await self._pool.aclose()
            self._pool = self._connect()
        return await super().handle_async_request(request)


def _origin(url: httpx.URL) -> httpcore.Origin:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target="").origin


def _is_spent(connection: Any) -> bool:
    """Returns `True` if it was idle for too long, or the service has closed it, or has sent more
    than its answer, which the next request would take for its own. Of an httpcore that does not
    show what it has read, none is used twice."""
    if not connection.is_idle():
        return bool(connection.is_closed())
    http_1 = getattr(connection, "_connection", None)
    h11 = getattr(http_1, "_h11_state", None)
    return connection.has_expired() or h11 is None or bool(h11.trailing_data[0])


class _Backend(httpcore.SyncBackend):
    exchange: Any = None
    """The exchange that uses the connection."""

    def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        return _Stream(super().connect_tcp(*args, **kwargs), self)


class _AsyncBackend(httpcore.AsyncNetworkBackend):
    async def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        backend: Any = httpcore.AnyIOBackend()
        return _AsyncStream(await backend.connect_tcp(*args, **kwargs))


class _Held:
    """What was written and not sent."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._written: list[bytes] = []
        self._timeout: float | None = None

    def _hold(self, buffer: bytes, timeout: float | None) -> None:
        self._written.append(buffer)
        self._timeout = timeout

    def _take(self) -> bytes:
        written, self._written = b"".join(self._written), []
        return written

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


# A service that ends its reading early may have answered, so httpcore ignores errors of writing.


class _Stream(_Held, httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, backend: _Backend) -> None:
        super().__init__(stream)
        self._backend = backend

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._hold(buffer, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._backend.exchange.is_abandoned:  # a head that never ends would hold the worker
            raise httpcore.ReadError("the answer is not waited for any more")
        with contextlib.suppress(httpcore.WriteError):
            self._stream.write(self._take(), self._timeout)
        read: bytes = self._stream.read(max_bytes, timeout)
        return read

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(*args, **kwargs), self._backend)


class _AsyncStream(_Held, httpcore.AsyncNetworkStream):
    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._hold(buffer, timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with contextlib.suppress(httpcore.WriteError):
            await self._stream.write(self._take(), self._timeout)
        read: bytes = await self._stream.read(max_bytes, timeout)
        return read

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        return _AsyncStream(await self._stream.start_tls(*args, **kwargs))
