"""The client of an AI voice-calling service: agents, calls, dockets, insights, webhooks.

>>> from voice_calling import VoiceClient
>>> with VoiceClient() as client:  # settings from the environment: VOICE_CALLING_BASE_URL, …
...     docket = client.dockets.create(
...         agent_id=7,
...         to_phone_number="910000000000",  # your own number
...         call_context={"reference": "crm-1001"},
...     )
...     done = client.dockets.wait(docket.docket_id, timeout=60)
>>> done.status
'COMPLETED'
>>> done.call_context
{'reference': 'crm-1001'}

A create that was answered 5xx or 408 is sent again by default, as the service asks for, even if it
was carried out: then two phones ring, and the result has `may_be_duplicate`. With
`create_retry="not-sent"` it is sent again only if it was not sent, or refused (429, 425). What
cannot be known is `OutcomeUnknownError`.
"""

import atexit
import os

from . import _batch, _breaker, _contact, _errors, _native, _records
from ._batch import *
from ._breaker import *
from ._client import AsyncVoiceClient, VoiceClient
from ._contact import *
from ._errors import *
from ._ledger import Ledger, LedgerEntry, Storage
from ._methods import normalize_number, parse_docket_completed
from ._records import *

__version__ = "0.2.0"

atexit.register(_native.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_native.before_fork,
        after_in_parent=_native.after_fork,
        after_in_child=_native.after_fork,
    )

__all__ = [
    "AsyncVoiceClient",
    "Ledger",
    "LedgerEntry",
    "Storage",
    "VoiceClient",
    "normalize_number",
    "parse_docket_completed",
]
__all__ += _batch.__all__
__all__ += _breaker.__all__
__all__ += _contact.__all__
__all__ += _errors.__all__
__all__ += _records.__all__
