from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Site


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    # With so short a history, the test's campaign is continued as new.
    made = Site(tmp_path, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40")
    yield made
    made.close()
