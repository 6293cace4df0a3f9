"""The httpx clients that this package makes by itself."""

from __future__ import annotations

import functools
import ipaddress
import ssl
from collections.abc import Iterable
from typing import TypeVar

import httpx

from ._failures import configuration_problem

Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)

_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


def http_client(http_class: type[Http], base_urls: Iterable[str]) -> Http:
    """A client for the services at these addresses. The proxies of the environment are for those
    on other machines: one that got a request to loopback would read the token in clear text."""
    mounts = {f"all://{host}": None for host in _loopback(base_urls)}
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
    """Whether a transport of this client speaks HTTP/2. Only httpx's own are looked into."""
    transports = [given._transport, *given._mounts.values()]
    pools = [getattr(transport, "_pool", None) for transport in transports]
    return any(getattr(pool, "_http2", False) for pool in pools)


@functools.cache
def _trust() -> ssl.SSLContext:
    """What certificates are trusted by clients that httpx makes by default. To read them takes
    longer than many a call, so it is done once."""
    return httpx.create_ssl_context()


def _loopback(urls: Iterable[str]) -> set[str]:
    """The hosts that are this machine, as a URL has them."""
    hosts = set()
    for url in urls:
        try:
            parsed = httpx.URL(url)
            if parsed.host == "localhost" or ipaddress.ip_address(parsed.host).is_loopback:
                hosts.add(f"[{parsed.host}]" if ":" in parsed.host else parsed.host)
        except (ValueError, httpx.InvalidURL):  # a name, or no URL, which the module refuses
            continue
    return hosts
