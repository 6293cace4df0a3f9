"""The methods of both clients. Each stands here once, with its documentation: it checks its
arguments, and returns the operation that `method` then runs in threads or in coroutines."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from . import _conversion as conversion
from . import _guest
from ._callers import D, Group, batch_method, method
from ._conversion import (
    LONGEST_WAIT_S,
    decode,
    encode_agent_text,
    encode_boolean,
    encode_docket_request,
    encode_integer,
    encode_json,
    encode_seconds,
    encode_text,
    encode_texts,
    given,
)
from ._errors import ExecutionFailed, RequestError, named
from ._operation import Operation, options
from ._requests import CheckedRequest, Source, check_key, list_of_requests
from ._types import (
    AgentList,
    AgentText,
    CallDetailsList,
    CallDetailsWait,
    CreatedAgent,
    CreatedDocket,
    CreatedDocketV1,
    Docket,
    DocketCompleted,
    DocketRequest,
    DocketWait,
    StartedCall,
    Verification,
)
from ._values import Json

T = TypeVar("T")

_VERIFICATION: Any = Verification


class Agents(Group[D]):
    """Agents: the voices that make calls. An agent is configured once, before calls are made."""

    __slots__ = ()

    @method
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
        timeout: float | None = None,
        max_retries: int | None = None,
        once: str | None = None,
    ) -> Operation[CreatedAgent]:
        """Creates an agent, a voice identity with a phone number and a prompt: `POST /agents/`. Any
        2xx is success.

        It is a creating request, retried as `calls.make` is. Where the answer has no `agent_id`,
        `agents.list` finds the agent by its name. The specification does not say which fields the
        service requires; this package asks for the name, and leaves every other `None` out of the
        request, except `tools`.

        - `prompt`: The agent's instructions.
        - `agent_name`: Not empty. Calls refer to the agent by it.
        - `agent_phone_number`: The phone number provided for the agent.
        - `voice_id`: Identifier of the chosen voice.
        - `version`: That of the configuration.
        - `welcome_text`: The greeting.
        - `tools`: Any JSON; `None` is sent as `null`, which means that no tools are used.
        - `enabled`: Whether the agent is active.
        - `save_stats`: Whether statistics are saved.
        - `server_type`, `call_type`: An environment label, and the kind of call; their values are
          not specified.
        - `created_at`, `updated_at`: Their format is not specified.
        - `extra`: A JSON object whose members are added to the request. Members that this method
          has a parameter for are refused.
        - `account`, `timeout`, `max_retries`, `once`: see `calls.make`.
        """
        texts = {
            "agent_phone_number": agent_phone_number,
            "voice_id": voice_id,
            "server_type": server_type,
            "call_type": call_type,
            "created_at": created_at,
            "updated_at": updated_at,
        }
        config = {
            "agent_name": encode_text(agent_name, "agent_name"),
            **given(encode_agent_text, {"prompt": prompt, "welcome_text": welcome_text}),
            **given(encode_text, texts),
            **given(encode_boolean, {"enabled": enabled, "save_stats": save_stats}),
            **given(encode_integer, {"version": version}),
            **given(encode_json, {"tools": tools, "extra": extra}),
        }
        given_options = options(account, timeout, max_retries)
        return _creation({"CreateAgent": config}, CreatedAgent, given_options, once)

    @method
    def list(
        self,
        organization_id: str,
        *,
        account: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Operation[AgentList]:
        """Lists the agents of an organization: `GET
        /api/v1/agents?organizationId=<organization_id>`.

        `organization_id` is not empty, has no control characters and at most 4096 bytes when it
        is percent-encoded; how to obtain it is not specified.

        - `account`, `timeout`, `max_retries`: see `calls.make`.
        """
        call = {"ListAgents": encode_text(organization_id, "organization_id")}
        return Operation(call, AgentList, options(account, timeout, max_retries))


class Calls(Group[D]):
    """Calls that are made directly, without a docket."""

    __slots__ = ()

    @method
    def make(
        self,
        *,
        from_agent_name: str | None = None,
        to_phone_number: str,
        call_context: Mapping[str, str] | None = None,
        extra: Json | None = None,
        account: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        once: str | None = None,
    ) -> Operation[StartedCall]:
        """Makes a phone ring: `POST /make_call`.

        It is a creating request: it is retried while it is certain that it did nothing, and
        where the service asks for it (5xx, 408; `create_retry="not-sent"` turns that off,
        `create_retry="never"` every retry). Once it was handed to the network without a
        conclusive answer, it fails with `OutcomeUnknown` and is never retried. No attempt begins
        with less time left than it may need for the answer: `attempt_timeout`, or half of
        the operation's time where that is less.

        An answer may have 16384 bytes more than six times its request; a larger one is
        `UnexpectedResponse`, which has its beginning.

        - `from_agent_name`: The agent that calls; not empty. May be `None` only where `extra` is
          given, which then has to select the agent: the service also knows agents by phone
          number, but the name of that field is not specified.
        - `to_phone_number`: The number to be called; not empty, without control characters. Its
          format is not specified.
        - `call_context`: The variables of the agent's prompt, as names and values. Empty leaves
          it out.
        - `extra`: A JSON object whose members are added to the request; those of its
          `extra_config` are added to `extra_config`. Members that this method has a parameter
          for are refused.
        - `account`: Which account sends the request: one of the names in the setting `accounts`.
          `None`: the account of the settings without a name.
        - `timeout`: In place of the client's `deadline`. Unit: seconds; 0.001 to 86400. It never
          cuts off a request that may have created something: the timeouts of an attempt give way
          to it, and no attempt begins too late.
        - `max_retries`: In place of the client's `max_attempts`, without the first attempt: 0 to
          99.
        - `once`: A key of your own for this create in the ledger of the client. A create whose key
          is done returns the recorded answer (`from_ledger`); one whose outcome is not known raises
          `OutcomeUnknown`; one that is in progress elsewhere raises `InProgress`; nothing is sent
          then. Another request with a key that is known is `InvalidInput`. With a key, a create is
          never sent again after it may have been carried out, whatever `create_retry` says.
        """
        call = {
            **given(encode_text, {"from_agent_name": from_agent_name}),
            "to_phone_number": encode_text(to_phone_number, "to_phone_number"),
            "call_context": encode_texts(call_context, "call_context"),
            **given(encode_json, {"extra": extra}),
        }
        given_options = options(account, timeout, max_retries)
        return _creation({"MakeCall": call}, StartedCall, given_options, once)

    @method
    def get_details(
        self,
        task_id: str,
        *,
        account: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Operation[CallDetailsList]:
        """What is known of a task's calls: `GET /call_details/{task_id}`. An empty list is an
        answer; a lone object counts as a list of one.

        `task_id` is not empty, not `.` or `..`, without control characters; it is sent as one
        percent-encoded path segment of at most 4096 bytes. What the service answers before the
        call is completed, or to an unknown task, is not specified.

        - `account`, `timeout`, `max_retries`: see `calls.make`.
        """
        call = {"GetCallDetails": encode_text(task_id, "task_id")}
        return Operation(call, CallDetailsList, options(account, timeout, max_retries))

    @method
    def wait_for_details(
        self,
        task_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool | None = None,
        account: str | None = None,
        poll_timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Operation[CallDetailsWait]:
        """Polls a task's details until there is at least one record and all are ready, or time
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
        - `poll_timeout`: In place of the client's `deadline`, for each poll. Unit: seconds.
        - `account`, `max_retries`: see `calls.make`; retries are those of a poll.
        """
        wait = _encode_wait(timeout, not_found_is_pending)
        call = {"WaitForCallDetails": (encode_text(task_id, "task_id"), wait)}
        given_options = options(account, poll_timeout, max_retries, "poll_timeout")
        return Operation(call, CallDetailsWait, given_options, "poll_timeout")


class Dockets(Group[D]):
    """Dockets: business tasks, each of which groups the call attempts made for it.

    A docket is for a task that may need several calls, and reports its completion once, by the
    webhook, with its insights. For one call whose details you fetch by task id use `calls.make`.
    """

    __slots__ = ()

    @method
    def create_v1(
        self,
        *,
        agent_id: int,
        to_phone_number: str,
        call_context: Json,
        extra: Json | None = None,
        account: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        once: str | None = None,
    ) -> Operation[CreatedDocketV1]:
        """Makes a phone ring: `POST /api/v1/dockets`, version 1 of `dockets.create`. Arguments,
        retries and limits are the same, but there is no `external_id`."""
        request = DocketRequest(
            agent_id=agent_id,
            to_phone_number=to_phone_number,
            call_context=call_context,
            extra=extra,
        )
        given_options = options(account, timeout, max_retries)
        return _creation(
            {"CreateDocket": encode_docket_request(request)}, CreatedDocketV1, given_options, once
        )

    @method
    def create(
        self,
        *,
        agent_id: int,
        to_phone_number: str,
        call_context: Json,
        external_id: str | None = None,
        extra: Json | None = None,
        account: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        once: str | None = None,
    ) -> Operation[CreatedDocket]:
        """Makes a phone ring: `POST /api/v2/dockets`. Retries, times and limits are those of
        `calls.make`. An answer whose `docket_id` is not a UUID is `UnexpectedResponse`.

        - `agent_id`: See `agents.list`.
        - `to_phone_number`: Exactly 12 ASCII digits, the country code included, no `+`:
          `910000000000`.
        - `call_context`: A JSON object, free-form. The fetched docket and the webhook return it,
          so it is the place for an identifier of your own by which to find the docket again.
        - `external_id`: An identifier of your own, such as a CRM id. It is not known to prevent
          duplicates.
        - `extra`, `account`, `timeout`, `max_retries`, `once`: see `calls.make`.
        """
        request = DocketRequest(
            agent_id=agent_id,
            to_phone_number=to_phone_number,
            call_context=call_context,
            external_id=external_id,
            extra=extra,
        )
        given_options = options(account, timeout, max_retries)
        return _creation(
            {"CreateDocketV2": encode_docket_request(request)}, CreatedDocket, given_options, once
        )

    @method
    def create_many(
        self,
        requests: Iterable[DocketRequest],
        *,
        timeout: float,
        account: str | None = None,
        item_timeout: float | None = None,
        max_retries: int | None = None,
        once: Literal["external_id"] | None = None,
    ) -> Operation[list[CreatedDocket | RequestError]]:
        """As `create_each` with a list, but returns all results at once, in the order of the
        requests."""
        taken = list_of_requests(requests, once)
        return _batch(taken, timeout, account, item_timeout, max_retries)

    @batch_method
    def create_each(
        self,
        requests: Iterable[DocketRequest] | AsyncIterable[DocketRequest],
        *,
        timeout: float,
        account: str | None = None,
        item_timeout: float | None = None,
        max_retries: int | None = None,
        once: Literal["external_id"] | None = None,
    ) -> Operation[Any]:
        """Makes phones ring: `POST /api/v2/dockets` for each request, at most `max_in_flight` at a
        time; the results come as they are known, in any order. In coroutines it is for `async for`.

        `requests`: any number. One failure never hides another. A rate limit that one request
        meets slows the others. A request that the service does not allow fails in its place, and
        the others are sent.

        Nothing further is begun after five failures in a row that are not about the people to be
        called (whose `next_step` is not `refused`), or 25 of any kind: the rest are `NotBegun`, and
        may be sent later. Requests in flight count: at first five are sent at once, and one more
        with each success.

        A list is checked before anything is sent, and all of it is sent without waiting for the
        reader. From any other iterable, such as a generator, requests are taken one by one, when
        they can be sent and results are read. It runs in the thread or task that reads the
        results, which wait while it runs; for an `AsyncVoiceClient` it may be asynchronous.
        Requests and results are forgotten once they were read, so that it may be of any length.
        An exception that it raises, or `InvalidInput` for a request that it yields, gives the
        batch up and is raised. A generator is closed with the batch.

        - `timeout`: For how long new requests may be begun. Unit: seconds; 0.001 or more. Those
          that were not begun by then are `TimedOut` with no attempts. Those that were are
          finished, each within its deadline, so that no docket id is lost.
        - `item_timeout`: In place of the client's `deadline`, for each request. Unit: seconds.
        - `account`, `max_retries`: see `calls.make`; retries are those of a request.
        - `once`: `"external_id"` takes the key of each request in the ledger from its
          `external_id`, if the request has no `once`. A request with neither is `InvalidInput`.

        `ConfigurationProblem`, or `InvalidInput` for `requests` that are a list, `timeout` or
        options, is raised by the first step of the iterator; then nothing was sent.
        """
        of: list[CheckedRequest] | Source
        if isinstance(requests, Sequence):
            of = list_of_requests(requests, once)
        else:
            of = Source(requests, once, self._driver.is_async)
        return _batch(of, timeout, account, item_timeout, max_retries)

    @method
    def get(
        self,
        docket_id: str,
        *,
        account: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Operation[Docket]:
        """The docket as it stands: `GET /api/v1/dockets/{docket_id}`.

        `docket_id` is a UUID in its hyphenated form (36 characters). An answer with another id
        is `UnexpectedResponse`; one without an id is taken for the docket that was asked for.

        - `account`, `timeout`, `max_retries`: see `calls.make`.
        """
        call = {"GetDocket": encode_text(docket_id, "docket_id")}
        return Operation(call, Docket, options(account, timeout, max_retries))

    @method
    def wait_for(
        self,
        docket_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool | None = None,
        account: str | None = None,
        poll_timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Operation[DocketWait]:
        """Polls the docket until it is completed or time runs out. Pauses, failed polls and
        arguments are those of `calls.wait_for_details`, but 404 ends this wait with `NotFound`
        unless `not_found_is_pending` is `True`."""
        wait = _encode_wait(timeout, not_found_is_pending)
        call = {"WaitForDocket": (encode_text(docket_id, "docket_id"), wait)}
        given_options = options(account, poll_timeout, max_retries, "poll_timeout")
        return Operation(call, DocketWait, given_options, "poll_timeout")


class Webhooks(Group[D]):
    """Notifications that the service sends by itself."""

    __slots__ = ()

    @method
    def verify(
        self,
        body: str | bytes | bytearray | memoryview,
        *,
        account: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Operation[Verification]:
        """Reads a delivery as `webhooks.parse` does, fetches the docket that it names (`GET
        /api/v1/dockets/{docket_id}`), and compares the two. Deliveries are not known to be
        signed, so that anyone may send one: this is what a receiver needs.

        The docket must be completed, and must not disagree with the delivery: with its
        `call_context`, for example, member by member. What it cannot confirm is listed. A docket
        that the service does not know is `NotFound`; a delivery that cannot be read is
        `InvalidInput`.

        - `account`, `timeout`, `max_retries`: see `calls.make`.
        """
        call = {"VerifyDocketCompleted": conversion.encode_body(body)}
        return Operation(call, _VERIFICATION, options(account, timeout, max_retries))

    def parse(self, body: str | bytes | bytearray | memoryview) -> DocketCompleted | None:
        """As the function `parse_docket_completed`; it needs neither settings nor an `await`."""
        return parse_docket_completed(body)


def parse_docket_completed(body: str | bytes | bytearray | memoryview) -> DocketCompleted | None:
    """Reads the body of a webhook delivery (section "Events" of the service's specification). It
    needs no settings and sends nothing. Anyone may send a delivery: use
    `VoiceClient.webhooks.verify` before you trust one.

    - A completed docket is returned. A value in it that has another type than the specified one
      costs only itself.
    - `None`: JSON, but not the completion of a docket. The service mentions call-level webhooks
      too. The completion of a docket is an object with a `docket_id` and evidence that the docket
      is done: `attempts` in which something is neither null nor empty, a text as `dashboard_url` or
      `call_insights.call_disposition`, or the status `COMPLETED`. A status of `OPEN` or
      `IN_PROGRESS` is evidence that it is not.
    - `InvalidInput`: it is not JSON, or the completion of a docket whose `docket_id` is not a
      UUID; or it has more than 1048576 bytes.

    >>> body = '{"docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11", "status": "COMPLETED"}'
    >>> parse_docket_completed(body).docket_id
    '7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11'
    >>> parse_docket_completed(b'{"event": "something else"}') is None
    True
    """
    try:
        delivery = conversion.encode_body(body)
        # An instance of its own, so that a large one leaves no memory behind.
        read = _guest.Guest().call("parse_docket_completed", delivery)
    except (_guest.GuestLost, ImportError, OSError) as lost:
        raise ExecutionFailed(named(lost)) from lost
    if "Err" in read:
        raise conversion.decode_error(read["Err"])
    completed = read["Ok"]
    return None if completed is None else decode(DocketCompleted, completed)


def _creation(
    call: dict[str, Any], made: type[T], given_options: dict[str, Any], once: str | None
) -> Operation[T]:
    """Returns an operation that creates one thing."""
    if once is not None:
        check_key(once, "once")
    return Operation(call, made, given_options, key=once, creates=True)


def _batch(
    of: list[CheckedRequest] | Source,
    timeout: float,
    account: str | None,
    item_timeout: float | None,
    max_retries: int | None,
) -> Operation[list[CreatedDocket | RequestError]]:
    """Returns the creation of many dockets."""
    return Operation(
        {"CreateDocketsV2": encode_seconds(timeout, "timeout", LONGEST_WAIT_S)},
        list,
        options(account, item_timeout, max_retries, "item_timeout"),
        "item_timeout",
        creates=True,
        is_batch=True,
        requests=None if isinstance(of, Source) else of,
        source=of if isinstance(of, Source) else None,
    )


def _encode_wait(timeout: float, not_found_is_pending: bool | None) -> dict[str, Any]:
    return {
        "timeout_ms": encode_seconds(timeout, "timeout", LONGEST_WAIT_S),
        **given(encode_boolean, {"not_found_is_pending": not_found_is_pending}),
    }
