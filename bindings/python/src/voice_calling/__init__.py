"""The client of an AI voice-calling service: agents, calls, dockets, insights, webhooks.

>>> from voice_calling import VoiceClient
>>> with VoiceClient() as client:  # settings from the environment: VOICE_CALLING_BASE_URL, …
...     docket = client.dockets.create(
...         agent_id=7,
...         to_phone_number="910000000000",  # your own number
...         call_context={"reference": "crm-1001"},
...     )
...     done = client.dockets.wait_for(docket.docket_id, timeout=60)
>>> done.completed
True
>>> done.outcome.value.call_context
{'reference': 'crm-1001'}

A create that was answered 5xx or 408 is sent again by default, as the service asks for, even if it
was carried out: then two phones ring, and the result has `may_be_duplicate`. With
`create_retry="not-sent"` it is sent again only if it was not sent, or refused (429, 425). What
cannot be known is `OutcomeUnknown`.
"""

from . import _callers, _errors, _ledger, _operation, _storage, _types, _values
from ._callers import *
from ._client import AsyncVoiceClient, VoiceClient
from ._driver import watch_process
from ._errors import *
from ._ledger import *
from ._methods import parse_docket_completed
from ._operation import *
from ._running import outcome_of
from ._settings import Account
from ._storage import *
from ._types import *
from ._values import *

__version__ = "0.2.0"

watch_process()

__all__ = [
    "Account",
    "AsyncVoiceClient",
    "VoiceClient",
    "outcome_of",
    "parse_docket_completed",
]
__all__ += _callers.__all__
__all__ += _errors.__all__
__all__ += _ledger.__all__
__all__ += _operation.__all__
__all__ += _storage.__all__
__all__ += _types.__all__
__all__ += _values.__all__
