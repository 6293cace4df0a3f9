"""Calls a customer by the component alone, with bindings that wasmtime makes from it.

    python main.py voice-calling.wasm +91…

The settings are those of the component: VOICE_CALLING_BASE_URL, VOICE_CALLING_API_TOKEN.
"""

import json
import os
import sys

from client import RequestError, VoiceCalling


def main(component: str, number: str) -> int:
    settings = {
        name: value for name, value in os.environ.items() if name.startswith("VOICE_CALLING_")
    }
    # A create is then sent again only if it was not sent: no phone rings twice.
    settings.setdefault("VOICE_CALLING_CREATE_RETRY", "not-sent")
    client = VoiceCalling(component, settings)

    try:
        return call(client, number)
    except RequestError as error:
        failure = error.failure
        if failure.get("may_have_created"):
            print("unknown: the phone may ring, so it is not sent again:", error)
            return 3
        print(failure.get("kind"), failure.get("next_step"), error)
        return 1


def call(client: VoiceCalling, number: str) -> int:
    [agent, *_] = client("agents.list-agents", "org-1", None)["agents"]
    print("agent", agent["agent_id"], agent["agent_name"])
    request = {
        "agent_id": agent["agent_id"],
        "to_phone_number": number,
        "call_context": json.dumps({"name": "Asha"}),
        "external_id": "crm-1",
        "extra": None,
    }
    docket = client("dockets.create-docket-v2", request, None)
    print("docket", docket["docket_id"])

    wait = {"timeout_ms": 60_000, "not_found_is_pending": None}
    waited = client("dockets.wait-for-docket", docket["docket_id"], wait, None)
    state, docket = waited["outcome"]
    print(state, docket["closure_reason"])

    # What the webhook delivers is not signed: the component compares it with the service.
    delivery = {"docket_id": docket["docket_id"], "status": "COMPLETED"}
    verdict, _completion = client("webhooks.verify-docket-completed", json.dumps(delivery), None)
    print("delivery", verdict)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
