"""The methods of both clients. Each stands here once, with its documentation: it checks its
arguments, and returns the operation that `method` then waits for in a thread or a coroutine."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from ._arguments import (
    Key,
    Options,
    agent_text,
    body_text,
    docket_argument,
    docket_request,
    json_text,
    text,
)
from ._batch import AsyncBatch, Batch
from ._contact import Checked, MayCall
from ._faces import F, Group, Method, look_like, method
from ._native import Client, Operation
from ._native import normalize_number as normalize
from ._native import parse_docket_completed as parse
from ._records import (
    AgentList,
    AgentText,
    CallDetailsList,
    CallRequest,
    CreatedAgent,
    CreatedDocket,
    CreatedDocketV1,
    Docket,
    DocketCompleted,
    DocketRequest,
    Json,
    StartedCall,
    Verification,
)

T = TypeVar("T")
P = ParamSpec("P")

Creating: TypeAlias = "Operation[T] | Checked[T]"


class _Group(Group[F]):
    __slots__ = ("_may_call",)

    _native: Client

    def __init__(self, face: type[F], native: Any, may_call: MayCall | None = None) -> None:
        self._face: type[F] = face
        self._native = native
        self._may_call = may_call

    def _checked(
        self, operation: Operation[T], request: DocketRequest | CallRequest
    ) -> Creating[T]:
        """Returns the operation of a create, which is checked first."""
        if self._may_call is None:
            return operation
        return Checked(operation, self._may_call, request)


def batch_method(make: Callable[Concatenate[Any, P], Any]) -> Method[P, Batch, AsyncBatch]:
    """Makes a method that returns a batch."""

    def blocking(group: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return make(group, *args, **kwargs)

    def awaited(group: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return make(group, *args, **kwargs)

    look_like(blocking, make, "Batch")
    look_like(awaited, make, "AsyncBatch")
    return Method(make, blocking, awaited)


class Agents(_Group[F]):
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
        key: str | None = None,
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
        - `account`, `timeout`, `max_retries`, `key`: see `calls.make`.
        """
        agent = {
            "prompt": agent_text(prompt, "prompt"),
            "agent_name": agent_name,
            "agent_phone_number": agent_phone_number,
            "voice_id": voice_id,
            "version": version,
            "welcome_text": agent_text(welcome_text, "welcome_text"),
            "tools": json_text(tools, "tools"),
            "enabled": enabled,
            "save_stats": save_stats,
            "server_type": server_type,
            "call_type": call_type,
            "created_at": created_at,
            "updated_at": updated_at,
            "extra": json_text(extra, "extra"),
        }
        options = (account, timeout, max_retries)
        return self._native.operation("create_agent", agent, options, key)

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
        options = (account, timeout, max_retries)
        return self._native.operation("list_agents", organization_id, options)


class Calls(_Group[F]):
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
        key: str | None = None,
    ) -> Creating[StartedCall]:
        """Makes a phone ring: `POST /make_call`.

        It is a creating request: it is retried while it is certain that it did nothing, and
        where the service asks for it (5xx, 408; `create_retry="not-sent"` turns that off,
        `create_retry="never"` every retry). Once it was handed to the network without a
        conclusive answer, it fails with `OutcomeUnknownError` and is never retried. No attempt
        begins with less time left than it may need for the answer: `attempt_timeout`, or half of
        the operation's time where that is less.

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
        - `account`: Which account sends the request: one of the names in the setting `ACCOUNTS`.
          `None`: the account of the settings without a name.
        - `timeout`: In place of the client's `timeout`. Unit: seconds; 0.001 to 86400. It never
          cuts off a request that may have created something: the timeouts of an attempt give way
          to it, and no attempt begins too late.
        - `max_retries`: In place of the client's `max_retries`: 0 to 99.
        - `key`: A key of your own for this create in the ledger of the client. A create whose key
          is done returns the recorded answer (`from_ledger`); one whose outcome is not known, or
          that is in progress elsewhere, raises `OutcomeUnknownError`; nothing is sent then. Another
          request with a key that is known is `InvalidInputError`. With a key, a create is never
          sent again after it may have been carried out, whatever `create_retry` says.
        """
        options, context = (account, timeout, max_retries), list((call_context or {}).items())
        agent, number = (
            text(from_agent_name, "from_agent_name"),
            text(to_phone_number, "to_phone_number"),
        )
        call = (agent, number, context, json_text(extra, "extra"))
        request = CallRequest(
            from_agent_name=from_agent_name,
            to_phone_number=to_phone_number,
            call_context=call_context or {},
            extra=extra,
        )
        return self._checked(self._native.operation("make_call", call, options, key), request)

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
        options = (account, timeout, max_retries)
        return self._native.operation("get_call_details", task_id, options)

    @method
    def wait(
        self,
        task_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool | None = None,
        account: str | None = None,
        poll_timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Operation[CallDetailsList]:
        """Polls a task's details until there is at least one record and all are ready, or time
        runs out.

        Each poll is a whole `calls.get_details`, with attempts and a deadline of its own. The
        pause after the first is `backoff`; it doubles up to `max_backoff`, without jitter, and
        is longer where `retry-after` asks for it. A pause that does not fit into the time that
        is left ends the wait, so that it may end before `timeout`. A poll that fails in a way
        that may pass (`RateLimitedError`, `UnavailableError`, `UnreachableError`, `TimedOutError`)
        does not end it, unless every poll did: then the last error is raised. If the time is up,
        `WaitTimeoutError` has what was seen last. For waits of hours on a workflow engine, let the
        workflow sleep and call `calls.get_details`.

        - `timeout`: How long to wait at most. Unit: seconds; 0.001 or more.
        - `not_found_is_pending`: Whether an answer of 404 means "not yet". `False` ends the wait
          with `NotFoundError`. What the service answers before a call is completed is not
          specified. `None`: `True` for a task id, so that one that `calls.make` has just returned
          is waited for (a wrong one then waits until time runs out); `False` for a docket.
        - `poll_timeout`: In place of the client's `timeout`, for each poll. Unit: seconds.
        - `account`, `max_retries`: see `calls.make`; retries are those of a poll.
        """
        options = (account, poll_timeout, max_retries)
        waited = (task_id, timeout, not_found_is_pending)
        return self._native.operation("wait_for_call_details", waited, options)


class Dockets(_Group[F]):
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
        key: str | None = None,
    ) -> Creating[CreatedDocketV1]:
        """Makes a phone ring: `POST /api/v1/dockets`, version 1 of `dockets.create`. Arguments,
        retries and limits are the same, but there is no `external_id`."""
        docket = DocketRequest(
            agent_id=agent_id,
            to_phone_number=to_phone_number,
            call_context=call_context,
            extra=extra,
            key=key,
        )
        return self._create("create_docket", docket, (account, timeout, max_retries))

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
        key: str | None = None,
    ) -> Creating[CreatedDocket]:
        """Makes a phone ring: `POST /api/v2/dockets`. Retries, times and limits are those of
        `calls.make`. An answer whose `docket_id` is not a UUID is `UnexpectedResponseError`.

        - `agent_id`: See `agents.list`.
        - `to_phone_number`: Exactly 12 ASCII digits, the country code included, no `+`:
          `910000000000`.
        - `call_context`: A JSON object, free-form. The fetched docket and the webhook return it,
          so it is the place for an identifier of your own by which to find the docket again.
        - `external_id`: An identifier of your own, such as a CRM id. It is not known to prevent
          duplicates.
        - `extra`, `account`, `timeout`, `max_retries`, `key`: see `calls.make`.
        """
        docket = DocketRequest(
            agent_id=agent_id,
            to_phone_number=to_phone_number,
            call_context=call_context,
            external_id=external_id,
            extra=extra,
            key=key,
        )
        return self._create("create_docket_v2", docket, (account, timeout, max_retries))

    def _create(self, name: str, docket: DocketRequest, options: Options) -> Creating[Any]:
        create = self._native.operation(name, docket_request(docket), options, docket.key)
        return self._checked(create, docket)

    @batch_method
    def create_each(
        self,
        requests: Iterable[DocketRequest] | AsyncIterable[DocketRequest],
        *,
        timeout: float,
        account: str | None = None,
        item_timeout: float | None = None,
        max_retries: int | None = None,
        key: Key = None,
    ) -> Any:
        """Makes phones ring: `POST /api/v2/dockets` for each request, at most `max_in_flight` at a
        time. Nothing is sent before `start()` or the first read; then the results come as they are
        known, in any order. In coroutines it is for `async for`, or `await` for all of them.

        `requests`: any iterable, of any length. One failure never hides another. A rate limit that
        one request meets slows the others. A request that the service does not allow fails in its
        place, and the others are sent.

        Nothing further is begun after five failures in a row that are not about the people to be
        called (whose `next_step` is not `refused`), or 25 of any kind: the rest are
        `NotBegunError`, and may be sent later. Requests in flight count: at first five are sent at
        once, and one more with each success.

        A list is checked before anything is sent, and once it has begun it is sent whether or not
        results are read, while the batch is kept and at most 1000 are unread. From any other
        iterable, such as a generator, requests are taken one by one, when they can be sent and
        results are read. It runs in the thread or task that reads the results, which wait while it
        runs; for an `AsyncVoiceClient` it may be asynchronous. Requests are forgotten with their
        results. An exception that it raises, or a request of the wrong type, ends the batch, and is
        raised after the results of the requests before.

        - `timeout`: For how long new requests may be begun. Unit: seconds; 0.001 or more. Those
          that were not begun by then are `TimedOutError` with no attempts. Those that were are
          finished, each within its deadline, so that no docket id is lost.
        - `item_timeout`: In place of the client's `timeout`, for each request. Unit: seconds.
        - `account`, `max_retries`: see `calls.make`; retries are those of a request.
        - `key`: `"external_id"` takes the key of each request in the ledger from its
          `external_id`, if the request has no `key`. A request with neither is
          `InvalidInputError`.

        `InvalidInputError` for options is raised by `start()` or the first read; then nothing was
        sent.
        """
        given = None
        if isinstance(requests, Sequence):
            given = [docket_argument(it, key, index) for index, it in enumerate(requests)]
        elif isinstance(requests, AsyncIterable) and not self._face.is_async:
            raise TypeError("a VoiceClient takes no asynchronous iterable")
        options = (account, item_timeout, max_retries)
        if self._may_call is not None:
            given = None  # each is checked when it can be sent
        native = self._native.create_dockets_v2(given, timeout, options)
        batch = AsyncBatch if self._face.is_async else Batch
        return batch(native, requests, key, given is not None, self._may_call)

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
        is `UnexpectedResponseError`; one without an id is taken for the docket that was asked for.

        - `account`, `timeout`, `max_retries`: see `calls.make`.
        """
        options = (account, timeout, max_retries)
        return self._native.operation("get_docket", docket_id, options)

    @method
    def wait(
        self,
        docket_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool | None = None,
        account: str | None = None,
        poll_timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Operation[Docket]:
        """Polls the docket until it is completed or time runs out. Pauses, failed polls and
        arguments are those of `calls.wait`, but 404 ends this wait with `NotFoundError`
        unless `not_found_is_pending` is `True`."""
        options = (account, poll_timeout, max_retries)
        waited = (docket_id, timeout, not_found_is_pending)
        return self._native.operation("wait_for_docket", waited, options)


class Webhooks(_Group[F]):
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
    ) -> Operation[Verification | None]:
        """Reads a delivery as `webhooks.parse` does, fetches the docket that it names (`GET
        /api/v1/dockets/{docket_id}`), and compares the two. Deliveries are not known to be
        signed, so that anyone may send one: this is what a receiver needs.

        The docket must be completed, and must not disagree with the delivery: with its
        `call_context`, for example, member by member. What it cannot confirm is listed. A docket
        that the service does not know is `NotFoundError`; a delivery that cannot be read is
        `InvalidInputError`.

        - `account`, `timeout`, `max_retries`: see `calls.make`.
        """
        options = (account, timeout, max_retries)
        return self._native.operation("verify_docket_completed", body_text(body), options)

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
    - `InvalidInputError`: it is not JSON, or the completion of a docket whose `docket_id` is not a
      UUID; or it has more than 1048576 bytes.

    >>> body = '{"docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11", "status": "COMPLETED"}'
    >>> parse_docket_completed(body).docket_id
    '7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11'
    >>> parse_docket_completed(b'{"event": "something else"}') is None
    True
    """
    return parse(body_text(body))


def normalize_number(text: str, country_code: str | None = None) -> str:
    """Returns a phone number as the service takes it: 12 ASCII digits, the country code included.

    `+` and `00` begin an international number, and any other leading zero a national one, as does a
    length other than 12. Space, hyphens, dots, slashes, brackets and invisible characters between
    digits are ignored, and digits of other scripts are read.

    - `country_code`: 1 to 3 digits, which are added to national numbers.

    `InvalidInputError` if the text is not such a number. It does not show the number.

    >>> normalize_number("098765-43210", "91")
    '919876543210'
    """
    return normalize(text, country_code)
