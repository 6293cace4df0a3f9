"""What the README says of TLS: certificates of public authorities only."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme
from conftest import DOCKET_ID, Service

from voice_calling import Unreachable, VoiceClient


@pytest.mark.parametrize("variable", [None, "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"])
def test_an_authority_of_ones_own_is_not_trusted_whatever_the_environment_says(
    service: Service, variable: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    service.server.socket = context.wrap_socket(service.server.socket, server_side=True)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    if variable is not None:
        monkeypatch.setenv(
            variable, str(tmp_path if variable == "SSL_CERT_DIR" else tmp_path / "ca.pem")
        )
    url = service.url.replace("http:", "https:")
    with VoiceClient(environ=service.environ(BASE_URL=url), max_attempts=1) as client:
        with pytest.raises(Unreachable) as raised:
            client.dockets.get(DOCKET_ID)
    [attempt] = raised.value.attempts
    assert attempt.transport_error is not None
    assert "TLS" in attempt.transport_error
    assert service.requests == []


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_proxies_of_the_environment_are_not_used(
    service: Service, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with VoiceClient(environ=service.environ()) as client:
        client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    assert len(service.requests) == 1
