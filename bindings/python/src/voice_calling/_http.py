"""The package's use of httpx: the clients that it makes, the requests, and the reading of
answers."""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import math
import ssl
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar
from urllib.request import getproxies

import httpx

from ._errors import configuration_problem, named
from ._exchange import Abandoned, Exchange

Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)
Transport = TypeVar("Transport", httpx.HTTPTransport, httpx.AsyncHTTPTransport)

_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)

_LONGEST_IDLE_S = 5.0
"""How long a connection is kept, as by httpx."""

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

_parsed = functools.lru_cache(maxsize=64)(httpx.URL)


# ------------------------------------------------------------------------------------- clients


class Connections(Generic[Transport]):
    """Connections of the package's own, each of which serves one request at a time."""

    headers = httpx.Headers(
        {
            "accept": "*/*",
            "connection": "keep-alive",
            "user-agent": f"python-httpx/{httpx.__version__}",
        }
    )

    def __init__(self, transport_class: type[Transport]) -> None:
        self._transport_class: Any = transport_class
        self._idle: dict[str, deque[tuple[float, Transport]]] = defaultdict(deque)
        """By origin, each with the time since when."""
        self.is_closed: bool = False

    def take(self, url: str) -> Transport:
        """Returns a transport, if possible one that is connected."""
        try:
            return self._idle[_origin(url)].pop()[1]
        except IndexError:
            made: Transport = self._transport_class(_parsed(url), _trust(), _LONGEST_IDLE_S)
            return made

    def give_back(
        self, transport: Transport, url: str, response: httpx.Response | None
    ) -> list[Transport]:
        """Keeps a transport whose request was answered. Without an answer, its connection may be
        one that never becomes free again. Returns those that are to be closed."""
        if response is None:
            return [transport]
        now = time.monotonic()
        idle = self._idle[_origin(url)]
        idle.append((now, transport))
        return self._drain(idle, math.inf if self.is_closed else now - _LONGEST_IDLE_S)

    def close(self) -> list[Transport]:
        """Returns the transports that are to be closed."""
        self.is_closed = True
        return [it for idle in list(self._idle.values()) for it in self._drain(idle, math.inf)]

    def _drain(self, idle: deque[tuple[float, Transport]], until: float) -> list[Transport]:
        drained = []
        with contextlib.suppress(IndexError):  # other threads take some meanwhile
            while idle[0][0] < until:
                drained.append(idle.popleft()[1])
        return drained


def make_http(http_class: type[Http], base_urls: Iterable[str]) -> Http | Connections[Any]:
    """Makes what sends requests to the services at these addresses. The proxies of the environment
    are for those on other machines: one that got a request to loopback would read the token in
    clear text."""
    if not any(getproxies().get(scheme) for scheme in ("http", "https", "all")):
        _trust()
        # It imports `httpcore`, for which half of an application has no use.
        from ._connection import AsyncConnection, Connection

        if issubclass(http_class, httpx.Client):
            return Connections(Connection)
        return Connections(AsyncConnection)
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
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        allowed = "files that can be read and written, and certificates in PEM"
        variables = "SSL_CERT_FILE, SSL_CERT_DIR or SSLKEYLOGFILE"
        raise configuration_problem(variables, named(error), allowed) from None


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
    exchange: Exchange, http: httpx.Client | httpx.AsyncClient | Connections[Any], is_async: bool
) -> httpx.Request | None:
    """Returns what `httpx` sends; `None` if it cannot, which is noted in the exchange. Headers of
    its client are sent along, unless the core has its own."""
    wanted = exchange.request
    try:
        url = _parsed(wanted["url"])
        content = wanted["body"].encode()
        own = tuple([(name, value) for name, value in wanted["headers"]])
        headers = _headers(tuple(http.headers.raw), own, url.netloc, len(content))
        attempt = wanted["attempt_ms"] / 1000 + _SLACK
        connect = wanted["connect_ms"] / 1000
        is_own = isinstance(http, Connections)
        extensions = {
            "timeout": {"connect": connect, "pool": connect, "read": attempt, "write": attempt},
            "trace": _async_trace(exchange, is_own) if is_async else _trace(exchange, is_own),
            "voice_calling_exchange": exchange,
        }
        request = _Request(wanted["method"], url, headers, content, extensions, exchange)
    except Exception as error:
        exchange.on_refused(error)
        return None
    if http.is_closed:
        exchange.on_not_sent("http_client is closed")
        return None
    return request


@functools.lru_cache(maxsize=256)
def _headers(
    of_client: tuple[tuple[bytes, bytes], ...],
    own: tuple[tuple[str, str], ...],
    host: bytes,
    length: int,
) -> httpx.Headers:
    headers = {name.lower(): value for name, value in of_client}
    headers.setdefault(b"host", host)
    headers[b"accept-encoding"] = b"identity"
    headers.update((name.encode(), value.encode()) for name, value in own)
    if length > 0:
        headers[b"content-length"] = b"%d" % length
    return httpx.Headers(list(headers.items()))


class _Request(httpx.Request):
    """A request that notes when its body is read: every transport has to read it to send it. What
    hooks read before a transport has the request does not count; `httpx` looks at `stream` between
    the two."""

    def __init__(
        self,
        method: str,
        url: httpx.URL,
        headers: httpx.Headers,
        content: bytes,
        extensions: dict[str, Any],
        exchange: Exchange,
    ) -> None:
        self._exchange = exchange
        self._body = content
        stream = _Body(content, exchange)
        super().__init__(method, url, headers=headers, stream=stream, extensions=extensions)

    @property
    def stream(self) -> Any:
        self._exchange.has_transport = True
        return self._stream

    @stream.setter
    def stream(self, stream: Any) -> None:
        self._stream = stream

    @property
    def content(self) -> bytes:
        if self._exchange.has_transport:
            self._exchange.mark_sent()
        return self._body

    def read(self) -> bytes:
        return self.content

    async def aread(self) -> bytes:
        return self.content


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


def _trace(exchange: Exchange, is_own: bool) -> Callable[[str, Any], None]:
    """Returns what `httpcore` reports to. The headers that are sent first may be those of a
    tunnel. A transport of the user that retries must not send a create twice."""
    has_begun = False

    def trace(name: str, info: Any) -> None:
        nonlocal has_begun
        if name.endswith(".send_request_headers.started") and info["request"].method != b"CONNECT":
            exchange.mark_sent()
            if has_begun and exchange.creates:
                raise Abandoned("it was sent before, and a create is sent once")
            has_begun = True
            if is_own:  # no one else wants the later reports, which take time
                info["request"].extensions.pop("trace", None)

    return trace


def _async_trace(exchange: Exchange, is_own: bool) -> Callable[[str, Any], Awaitable[None]]:
    trace = _trace(exchange, is_own)

    async def async_trace(name: str, info: Any) -> None:
        trace(name, info)

    return async_trace


@functools.lru_cache(maxsize=64)
def _origin(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


# ------------------------------------------------------------------------------------- answers


def read_head(exchange: Exchange, response: httpx.Response) -> bool:
    """Reads the head of an answer. Returns `False` if the body was read, too: by a hook."""
    headers = [
        (name.lower().decode("latin-1"), value.decode("utf-8", "replace"))
        for name, value in response.headers.raw
        if name.lower() in _HEADERS_READ
    ]
    exchange.on_head(response.status_code, headers)
    if response.is_stream_consumed:
        exchange.on_part(response.content)
        return False
    return True
