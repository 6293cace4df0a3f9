"""The client."""

# Written by `cargo xtask bindings generate` from the WIT. Do not edit.

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Mapping
from types import TracebackType

from . import _interface
from ._caller import MAX_WORKERS, Call, Client
from ._errors import RequestError
from ._json import Json
from ._options import Account
from ._types import (
    AgentConfig,
    AgentList,
    AgentText,
    CallDetailsList,
    CallDetailsWait,
    CallOptions,
    CallRequest,
    CreatedAgent,
    CreatedDocket,
    CreatedDocketV1,
    Docket,
    DocketCompleted,
    DocketRequest,
    DocketRequestV1,
    DocketWait,
    StartedCall,
    Verification,
    WaitOptions,
)


class Agents:
    """Agents: the voices that make calls. An agent is configured once, before calls are made."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def create(
        self,
        *,
        prompt: AgentText | None = None,
        agent_name: str,
        agent_phone_number: str | None = None,
        voice_id: str | None = None,
        version: int | None = None,
        welcome_text: AgentText | None = None,
        tools: Json | None = None,
        enabled: bool | None = None,
        save_stats: bool | None = None,
        server_type: str | None = None,
        call_type: str | None = None,
        created_at: str | None = None,
        updated_at: str | None = None,
        extra: Json | None = None,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> CreatedAgent:
        """Creates an agent: `POST /agents/`. Any 2xx is success.

        It is a creating request, retried as `calls.make` is. Where the answer has no `agent_id`,
        `agents.list` finds the agent by its name.

        - `prompt`: What the agent is told to do.
        - `agent_name`: Not empty. Calls refer to the agent by it.
        - `agent_phone_number`: The phone number provided for the agent.
        - `voice_id`: Identifier of the chosen voice.
        - `version`: `version` of the configuration.
        - `welcome_text`: The greeting.
        - `tools`: Any JSON; `None` is sent as `null`, which means that no tools are used.
        - `enabled`: Whether the agent is active.
        - `save_stats`: Whether statistics are saved.
        - `server_type`: An environment label; its values are not specified.
        - `call_type`: The kind of call; its values are not specified.
        - `created_at`: Its format is not specified.
        - `updated_at`: Its format is not specified.
        - `extra`: A JSON object whose members are added to the request. Members that this record
          has a field for are refused.
        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.CREATE_AGENT,
            AgentConfig(
                prompt=prompt,
                agent_name=agent_name,
                agent_phone_number=agent_phone_number,
                voice_id=voice_id,
                version=version,
                welcome_text=welcome_text,
                tools=tools,
                enabled=enabled,
                save_stats=save_stats,
                server_type=server_type,
                call_type=call_type,
                created_at=created_at,
                updated_at=updated_at,
                extra=extra,
            ),
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )

    def list(
        self,
        organization_id: str,
        *,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> AgentList:
        """Lists the agents of an organization: `GET
        /api/v1/agents?organizationId=<organization-id>`.

        `organization_id` is not empty, has no control characters and at most 4096 bytes when it
        is percent-encoded; how to obtain it is not specified.

        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.LIST_AGENTS,
            organization_id,
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )


class Calls:
    """Calls that are made directly, without a docket."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def make(
        self,
        *,
        from_agent_name: str | None = None,
        to_phone_number: str,
        call_context: Mapping[str, str] | None = None,
        extra: Json | None = None,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> StartedCall:
        """Makes a phone ring: `POST /make_call`.

        It is a creating request: it is retried while it is certain that it did nothing, and
        where the service asks for it (5xx, 408; `create_retry="not-sent"` turns that off,
        `create_retry="never"` every retry). Once it was handed to the network without a
        conclusive answer, it fails with `OutcomeUnknown` and is never retried. No attempt begins
        with less time left than it may need to hear the answer: `attempt_timeout`, or half of
        `deadline` where that is less.

        An answer may have 16384 bytes more than its request; a larger one is
        `UnexpectedResponse`, which has its beginning.

        - `from_agent_name`: The agent that calls; not empty. May be `None` only where `extra` is
          given, which then has to select the agent: the service also knows agents by phone
          number, but the name of that field is not specified.
        - `to_phone_number`: The number to be called; not empty, without control characters. Its
          format is not specified.
        - `call_context`: `extra_config.call_context`: the variables of the agent's prompt, as
          names and values. No name occurs twice. Empty leaves `call_context` out.
        - `extra`: A JSON object whose members are added to the request; those of its
          `extra_config` are added to `extra_config`. Members that this record has a field for
          are refused.
        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.MAKE_CALL,
            CallRequest(
                from_agent_name=from_agent_name,
                to_phone_number=to_phone_number,
                call_context=call_context,
                extra=extra,
            ),
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )

    def get_details(
        self,
        task_id: str,
        *,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> CallDetailsList:
        """What is known of a task's calls: `GET /call_details/{task_id}`. An empty list is an
        answer; a lone object counts as a list of one.

        `task_id` is not empty, not `.` or `..`, without control characters; it is sent as one
        percent-encoded path segment of at most 4096 bytes. What the service answers before the
        call is completed, or to an unknown task, is not specified.

        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.GET_CALL_DETAILS,
            task_id,
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )

    def wait_for_details(
        self,
        task_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool | None = None,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> CallDetailsWait:
        """Asks for a task's details until there is at least one record and all are ready, or time
        runs out.

        Each poll is a whole `calls.get_details`, with attempts and a deadline of its own. The
        pause after the first is `backoff`; it doubles up to `max_backoff`, without jitter, and
        is longer where `retry-after` asks for it. A pause that does not fit into the time that
        is left ends the wait, so that it may end before `timeout`. A poll that fails in a way
        that may pass (`RateLimited`, `Unavailable`, `Unreachable`, `TimedOut`) does not end it,
        unless every poll did: then the last error is raised. For waits of hours on a workflow
        engine, let the workflow sleep and call `calls.get_details`.

        - `timeout`: How long to wait at most. Unit: seconds; 0.001 or more.
        - `not_found_is_pending`: Whether an answer of 404 means "not yet". `False` ends the wait
          with `NotFound`. What the service answers before a call is completed is not specified.
          `None`: `True` for a task id, so that one that `calls.make` has just returned is waited
          for (a wrong one then waits until time runs out); `False` for a docket.
        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.WAIT_FOR_CALL_DETAILS,
            task_id,
            WaitOptions(
                timeout=timeout,
                not_found_is_pending=not_found_is_pending,
            ),
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )


class Dockets:
    """Dockets: business tasks, each of which groups the call attempts made for it.

    A docket is for a task that may need several calls, and reports its completion once, by the
    webhook, with its insights. For one call whose details you fetch by task id use `calls.make`.
    Version 2 of the creation adds `external_id` and `created`.
    """

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def create_v1(
        self,
        *,
        agent_id: int,
        to_phone_number: str,
        call_context: Json,
        extra: Json | None = None,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> CreatedDocketV1:
        """Makes a phone ring: `POST /api/v1/dockets`.

        It is a creating request: it is retried while it is certain that it did nothing, and
        where the service asks for it (5xx, 408; `create_retry="not-sent"` turns that off,
        `create_retry="never"` every retry). Once it was handed to the network without a
        conclusive answer, it fails with `OutcomeUnknown` and is never retried. No attempt begins
        with less time left than it may need to hear the answer: `attempt_timeout`, or half of
        `deadline` where that is less.

        An answer may have 16384 bytes more than its request; a larger one is
        `UnexpectedResponse`, which has its beginning. So is one whose `docket_id` is not a UUID.

        - `agent_id`: See `agents.list`.
        - `to_phone_number`: Exactly 12 ASCII digits, the country code included, no `+`:
          `919876543210`.
        - `call_context`: `extra_config.call_context`: a JSON object, free-form. The fetched
          docket and the webhook return it, so it is the place for an identifier of your own by
          which to find the docket again.
        - `extra`: A JSON object whose members are added to the request; those of its
          `extra_config` are added to `extra_config`. Members that this record has a field for
          are refused.
        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.CREATE_DOCKET,
            DocketRequestV1(
                agent_id=agent_id,
                to_phone_number=to_phone_number,
                call_context=call_context,
                extra=extra,
            ),
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )

    def create(
        self,
        *,
        agent_id: int,
        to_phone_number: str,
        call_context: Json,
        external_id: str | None = None,
        extra: Json | None = None,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> CreatedDocket:
        """Makes a phone ring: `POST /api/v2/dockets`, which takes an `external_id` and answers
        whether the docket was created. Retries, times and limits are those of
        `dockets.create_v1`.

        - `agent_id`: See `agents.list`.
        - `to_phone_number`: Exactly 12 ASCII digits, the country code included, no `+`:
          `919876543210`.
        - `call_context`: `extra_config.call_context`: a JSON object, free-form. The fetched
          docket and the webhook return it, so it is the place for an identifier of your own by
          which to find the docket again.
        - `external_id`: An identifier of your own, such as a CRM id. It is not known to prevent
          duplicates.
        - `extra`: A JSON object whose members are added to the request; those of its
          `extra_config` are added to `extra_config`. Members that this record has a field for
          are refused.
        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.CREATE_DOCKET_V2,
            DocketRequest(
                agent_id=agent_id,
                to_phone_number=to_phone_number,
                call_context=call_context,
                external_id=external_id,
                extra=extra,
            ),
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )

    def get(
        self,
        docket_id: str,
        *,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> Docket:
        """The docket as it stands: `GET /api/v1/dockets/{docket_id}`.

        `docket_id` is a UUID in its hyphenated form (36 characters). An answer with another id
        is `UnexpectedResponse`; one without an id is taken for the docket that was asked for.

        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.GET_DOCKET,
            docket_id,
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )

    def wait_for(
        self,
        docket_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool | None = None,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> DocketWait:
        """Asks for the docket until it is completed or time runs out. Pauses and failed polls are
        those of `calls.wait_for_details`.

        - `timeout`: How long to wait at most. Unit: seconds; 0.001 or more.
        - `not_found_is_pending`: Whether an answer of 404 means "not yet". `False` ends the wait
          with `NotFound`. What the service answers before a call is completed is not specified.
          `None`: `True` for a task id, so that one that `calls.make` has just returned is waited
          for (a wrong one then waits until time runs out); `False` for a docket.
        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.WAIT_FOR_DOCKET,
            docket_id,
            WaitOptions(
                timeout=timeout,
                not_found_is_pending=not_found_is_pending,
            ),
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )

    def create_many(
        self,
        requests: Iterable[DocketRequest],
        *,
        timeout: float,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> builtins.list[CreatedDocket | RequestError]:
        """Makes phones ring: `POST /api/v2/dockets` for each request, at most `max_in_flight` at a
        time.

        `requests`: 0 to 1000, with texts of 16777216 bytes in all; none gives an empty list. The
        results are in the order of the requests, one for each, and one failure never hides
        another. A rate limit that one request meets slows the others. A request that is not
        allowed fails in its place, and the others are sent.

        `timeout`: for how long new requests may be begun; seconds, 0.001 or more. Those that
        were not begun by then are `TimedOut` with no attempts. Those that were are finished,
        each within its deadline, so that no docket id is lost.

        The outer error is `ConfigurationProblem`, or `InvalidInput` for `requests`, `timeout` or
        `options`; then nothing was sent.

        Many dockets in one call, for hosts that do not replay.

        Not for workflow engines: a crash in the middle of the batch would replay all of it, and
        call people twice. There, use one `dockets.create` for each docket.

        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.CREATE_DOCKETS_V2,
            requests,
            timeout,
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )


class Webhooks:
    """What the service sends by itself."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def parse(
        self,
        body: str | bytes | bytearray | memoryview,
    ) -> DocketCompleted | None:
        """Reads the body of a webhook delivery (section "Events" of the service's specification).
        It is pure: it needs no settings and sends nothing.

        - A completed docket is returned. A value in it that has another type than the specified
          one costs only itself.
        - `None`: JSON, but not the completion of a docket. The service mentions call-level
          webhooks too. The completion of a docket is an object with a `docket_id` and evidence
          that the docket is done: `attempts` in which something is neither null nor empty, a
          text as `dashboard_url` or `call_insights.call_disposition`, or the status `COMPLETED`.
          A status of `OPEN` or `IN_PROGRESS` is evidence that it is not.
        - `InvalidInput`: broken. It is not JSON, or the completion of a docket whose `docket_id`
          is not a UUID; or it has more than 8388608 bytes.
        """
        return self._call(
            _interface.PARSE_DOCKET_COMPLETED,
            body,
        )

    def verify(
        self,
        body: str | bytes | bytearray | memoryview,
        *,
        account: str | None = None,
        deadline: float | None = None,
        max_attempts: int | None = None,
    ) -> Verification:
        """Reads a delivery as `webhooks.parse` does, fetches the docket that it names (`GET
        /api/v1/dockets/{docket_id}`), and compares the two. Deliveries are not known to be
        signed, so that anyone may send one: this is what a receiver needs.

        The docket must be completed, and must not disagree with the delivery: with its
        `call_context`, for example, member by member. What it cannot confirm is listed. A docket
        that the service does not know is `NotFound`; errors are those of both functions.

        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `deadline`: In place of the client's `deadline`: for the operation, each item of a
          batch, each poll of a wait. Unit: seconds; 0.001 to 86400. The timeouts of an attempt
          give way to a smaller deadline.
        - `max_attempts`: In place of the client's `max_attempts`: 1 to 100.
        """
        return self._call(
            _interface.VERIFY_DOCKET_COMPLETED,
            body,
            CallOptions(
                account=account,
                deadline=deadline,
                max_attempts=max_attempts,
            ),
        )


class VoiceClient(Client):
    """A client of the voice-calling service, for any number of threads. What is not given here is
    taken from the environment, from the variables with the prefix `VOICE_CALLING_`. Settings are
    checked by the first call: `ConfigurationProblem` names the one at fault.

    Ctrl-C ends a call at once with `KeyboardInterrupt`. No further attempt is sent then, but
    what was on the way may have been processed: a phone may ring.

    - `base_url`: The service: http(s)://host[:port][/path]; http only to loopback. Required,
      unless every call names an account.
    - `token`: The organization's token, without `Bearer `. It is sent as the header `auth_token:
      Bearer <token>`. Required, unless every call names an account.
    - `max_attempts`: Attempts of an operation, of an item of a batch, of a poll of a wait; 1 to
      100. Default: 4.
    - `backoff`: The ceiling of the first pause, doubled from then on; the pause itself is drawn
      between half of it and all of it. Unit: seconds. Default: 2.
    - `max_backoff`: The highest ceiling, and the longest pause between polls; the service may
      ask for more. Unit: seconds. Default: 8.
    - `connect_timeout`: For a connection, TLS included. Unit: seconds. Default: 3.
    - `attempt_timeout`: For an attempt, the body included. Unit: seconds. Default: 10.
    - `deadline`: For an operation, an item of a batch, a poll of a wait. Unit: seconds. Default:
      30.
    - `create_retry`: When a create is retried: also after 5xx and 408, as the service asks for;
      only while nothing can have been created; or never. Default: `"server-errors"`; or
      `"not-sent"`, `"never"`.
    - `max_in_flight`: Open requests of a batch; 1 to 100000. Default: 16.
    - `max_request_bytes`: The body of a request; 1 to 67108864. Default: 1048576.
    - `max_response_bytes`: The body of an answer; 1 to 67108864. An answer to a create has at
      most 16384 bytes more than its request. Default: 8388608.
    - `allow_insecure_http`: Whether plain http may go to a host that is not loopback. Default:
      False.
    - `accounts`: further organizations by their names (lower-case letters, digits and hyphens),
      of which methods take one as `account`. They are added to those of the variable
      `VOICE_CALLING_ACCOUNTS`.
    - `environ`: taken instead of the process's environment.
    - `max_workers`: how many calls run at once; others wait for their turn. A wait takes one as
      well.
    - `cache_dir`: where the compiled component is kept, instead of the user's folder for caches.
      The first client that calls decides for the process.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        token: str | None = None,
        max_attempts: int | None = None,
        backoff: float | None = None,
        max_backoff: float | None = None,
        connect_timeout: float | None = None,
        attempt_timeout: float | None = None,
        deadline: float | None = None,
        create_retry: str | None = None,
        max_in_flight: int | None = None,
        max_request_bytes: int | None = None,
        max_response_bytes: int | None = None,
        allow_insecure_http: bool | None = None,
        accounts: Mapping[str, Account] | None = None,
        environ: Mapping[str, str] | None = None,
        max_workers: int = MAX_WORKERS,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        options = Account(
            base_url=base_url,
            token=token,
            max_attempts=max_attempts,
            backoff=backoff,
            max_backoff=max_backoff,
            connect_timeout=connect_timeout,
            attempt_timeout=attempt_timeout,
            deadline=deadline,
            create_retry=create_retry,
            max_in_flight=max_in_flight,
            max_request_bytes=max_request_bytes,
            max_response_bytes=max_response_bytes,
            allow_insecure_http=allow_insecure_http,
        )
        super().__init__(options, accounts, environ, max_workers, cache_dir)
        call = self._caller.call
        self.agents: Agents = Agents(call)
        self.calls: Calls = Calls(call)
        self.dockets: Dockets = Dockets(call)
        self.webhooks: Webhooks = Webhooks(call)

    def __enter__(self) -> VoiceClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
