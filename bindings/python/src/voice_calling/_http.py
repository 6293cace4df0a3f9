"""The package's use of httpx: the clients that it makes, the requests, and the reading of
answers."""

from __future__ import annotations

import functools
import ipaddress
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, TypeVar

import httpx

from ._errors import configuration_problem
from ._exchange import Exchange

Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)

_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)

_HEADERS_READ = frozenset(
    [
        b"retry-after",
        b"date",
        b"location",
        b"content-type",
        b"content-encoding",
        b"x-request-id",
        b"request-id",
        b"x-correlation-id",
    ]
)
"""The headers of an answer that the core reads."""

_SLACK = 1.0
"""How much later than the core `httpx` ends an attempt in which nothing comes. Unit: seconds."""

_LONGEST_PART = 65536
"""How much of a body is decoded at a time. Unit: bytes."""


# ------------------------------------------------------------------------------------- clients


def make_client(http_class: type[Http], base_urls: Iterable[str]) -> Http:
    """Makes a client for the services at these addresses. The proxies of the environment are for
    those on other machines: one that got a request to loopback would read the token in clear
    text."""
    mounts = {f"all://{host}": None for host in _loopback_hosts(base_urls)}
    try:
        return http_class(limits=_LIMITS, verify=_trust(), mounts=mounts)
    except (ImportError, ValueError, httpx.InvalidURL) as error:  # by the proxy's address
        raise configuration_problem(
            "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY",
            str(error),
            "http://host:port, https://host:port, or socks5://host:port with the package "
            "httpx[socks]; NO_PROXY names hosts that need no proxy",
        ) from None


def has_http_2(given: httpx.Client) -> bool:
    """Returns `True` if a transport of this client speaks HTTP/2, as far as it is one of httpx's
    own."""
    transports = [given._transport, *given._mounts.values()]
    pools = [getattr(transport, "_pool", None) for transport in transports]
    return any(getattr(pool, "_http2", False) for pool in pools)


@functools.cache
def _trust() -> ssl.SSLContext:
    """Returns the certificates that httpx trusts by default. Reading them takes longer than many a
    call, so it is done once."""
    return httpx.create_ssl_context()


def _loopback_hosts(urls: Iterable[str]) -> set[str]:
    """Returns the hosts that are this machine, as a URL has them."""
    hosts = set()
    for url in urls:
        try:
            parsed = httpx.URL(url)
            if parsed.host == "localhost" or ipaddress.ip_address(parsed.host).is_loopback:
                hosts.add(f"[{parsed.host}]" if ":" in parsed.host else parsed.host)
        except (ValueError, httpx.InvalidURL):  # a name, or no URL, which the core refuses
            continue
    return hosts


# ------------------------------------------------------------------------------------ requests


def request_of(
    exchange: Exchange, http_client: httpx.Client | httpx.AsyncClient
) -> httpx.Request | None:
    """Returns what `httpx` sends; `None` if it cannot, which is noted in the exchange. Headers of
    its client are sent along, unless the core has its own."""
    wanted = exchange.request
    try:
        headers = {name.lower(): value for name, value in http_client.headers.raw}
        headers[b"accept-encoding"] = b"gzip"
        for name, value in wanted["headers"]:
            headers[name.encode()] = value.encode()
        attempt = wanted["attempt_ms"] / 1000 + _SLACK
        connect = wanted["connect_ms"] / 1000
        is_async = isinstance(http_client, httpx.AsyncClient)
        content = wanted["body"].encode()
        request = _Request(
            wanted["method"],
            _url(wanted["url"]),
            headers=list(headers.items()),
            content=content or None,
            extensions={
                "timeout": {"connect": connect, "pool": connect, "read": attempt, "write": attempt},
                "trace": _async_trace(exchange) if is_async else _trace(exchange),
                "voice_calling_exchange": exchange,
            },
        )
    except Exception as error:
        exchange.on_refused(error)
        return None
    if http_client.is_closed:
        exchange.on_not_sent("http_client is closed")
        return None
    request.stream = _Body(content, exchange)
    request.exchange = exchange
    return request


class _Request(httpx.Request):
    """A request that notes when its body is read: every transport has to read it to send it. What
    hooks read before a transport has the request does not count; `httpx` looks at `stream` between
    the two."""

    exchange: Exchange | None = None

    @property
    def stream(self) -> Any:
        if self.exchange is not None:
            self.exchange.has_transport = True
        return self._stream

    @stream.setter
    def stream(self, stream: Any) -> None:
        self._stream = stream

    @property
    def content(self) -> bytes:
        self._on_read()
        return super().content

    def read(self) -> bytes:
        self._on_read()
        return super().read()

    async def aread(self) -> bytes:
        self._on_read()
        return await super().aread()

    def _on_read(self) -> None:
        if self.exchange is not None and self.exchange.has_transport:
            self.exchange.mark_sent()


class _Body(httpx.ByteStream):
    def __init__(self, content: bytes, exchange: Exchange) -> None:
        super().__init__(content)
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        self._exchange.mark_sent()
        yield from super().__iter__()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._exchange.mark_sent()
        async for part in super().__aiter__():
            yield part


def _trace(exchange: Exchange) -> Callable[[str, Any], None]:
    """Returns what `httpcore` reports to. The headers that are sent first may be those of a
    tunnel."""

    def trace(name: str, info: Any) -> None:
        if name.endswith(".send_request_headers.started") and info["request"].method != b"CONNECT":
            exchange.mark_sent()

    return trace


def _async_trace(exchange: Exchange) -> Callable[[str, Any], Awaitable[None]]:
    trace = _trace(exchange)

    async def async_trace(name: str, info: Any) -> None:
        trace(name, info)

    return async_trace


@functools.lru_cache(maxsize=64)
def _url(text: str) -> httpx.URL:
    return httpx.URL(text)


# ------------------------------------------------------------------------------------- answers


class AnswerReader:
    """Reads an answer into its exchange. It undoes the content encoding: `gzip` once, which is all
    that was asked for. What is encoded otherwise stays as it is, and is no JSON then. A few bytes
    may stand for gigabytes, so no more is decoded than is wanted."""

    def __init__(self, exchange: Exchange, response: httpx.Response) -> None:
        self._exchange = exchange
        encoding = response.headers.get("content-encoding", "").strip().lower()
        self._zlib = zlib.decompressobj(31) if encoding in ("gzip", "x-gzip") else None
        headers = [
            (name.lower().decode("latin-1"), value.decode("utf-8", "replace"))
            for name, value in response.headers.raw
            if name.lower() in _HEADERS_READ
        ]
        exchange.on_head(response.status_code, headers)
        self.has_ended = response.is_stream_consumed
        """Whether there is nothing to read any more."""
        if self.has_ended:  # a hook has read it
            exchange.on_part(response.content)

    def read(self, part: bytes) -> bool:
        """Reads a part of the encoded body. Returns `False` if no more is wanted."""
        if self._zlib is None:
            return self._exchange.on_part(part)
        while part:
            decoded = self._zlib.decompress(part, min(self._exchange.room, _LONGEST_PART))
            if not self._exchange.on_part(decoded):
                return False
            part = self._zlib.unconsumed_tail
        return True

    def end(self) -> None:
        """Raises an error if the body cannot be at its end."""
        if self._zlib is not None and not self._zlib.eof:
            raise EOFError("the compressed body ended early")
