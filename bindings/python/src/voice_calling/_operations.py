"""The methods of both clients: each makes an operation of its arguments, which a client then runs
in threads or in coroutines."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from . import _lift, _lower
from ._errors import RequestError
from ._json import Json
from ._record import Record
from ._types import (
    AgentConfig,
    AgentList,
    AgentText,
    CallDetailsList,
    CallDetailsWait,
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
)

__all__ = ["BatchResult", "Progress"]

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Record):
    """Where a wait stands: the answer to one of its requests, or that there was none."""

    requests: int
    """How many requests the wait has sent."""

    waited_ms: int
    """How long it has waited. Unit: milliseconds."""

    status: int | None = None
    """The HTTP status of the answer; `None` where none came."""

    raw_json: str | None = None
    """The answer as it came, where it is text. It need not be JSON."""

    @property
    def raw(self) -> Any:
        """The value of `raw_json`; `None` where it is not JSON."""
        import json

        try:
            return None if self.raw_json is None else json.loads(self.raw_json)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult(Record):
    """What came of one request of a batch."""

    index: int
    """The index of the request."""

    request: DocketRequest
    """The request."""

    outcome: CreatedDocket | RequestError
    """What was created, or why it was not, or may not have been."""

    @property
    def created(self) -> CreatedDocket | None:
        """What was created."""
        return self.outcome if isinstance(self.outcome, CreatedDocket) else None

    @property
    def error(self) -> RequestError | None:
        """Why nothing was created, or may not have been."""
        return self.outcome if isinstance(self.outcome, RequestError) else None


@dataclass(slots=True, eq=False)
class Operation(Generic[T]):
    """What is to be done, checked and in the machine's JSON."""

    call: dict[str, Any]
    """The case of the variant `call`."""

    lift: Callable[[Any], T]
    """What a user gets of the payload of the answer."""

    options: dict[str, Any]
    """The options that were given."""

    creates: bool = False
    """Whether it creates something, which may exist although its answer was lost."""

    timeout: str = "timeout"
    """What its deadline is called: a wait has another timeout."""

    on_progress: Callable[[Progress], object] | None = None

    requests: list[DocketRequest] = field(default_factory=list)
    """Those of a batch."""

    def error(self, wire: Any, named: Callable[[str], str] = str) -> RequestError:
        """The exception for an error, in the user's words. `named` is what the user calls what is
        not this operation's own."""
        return _lift.error(wire, lambda path: named(_lower.written(path, self.timeout)))


def options(
    account: str | None,
    timeout: float | None,
    max_retries: int | None,
    name: str = "timeout",
) -> dict[str, Any]:
    """The options of one call, without those that were not given."""
    given: dict[str, Any] = {}
    if account is not None:
        given["account"] = _lower.text(account, "account")
    if timeout is not None:
        given["deadline_ms"] = _lower.deadline_ms(timeout, name)
    if max_retries is not None:
        given["max_attempts"] = _lower.attempts(max_retries, "max_retries")
    return given


# ------------------------------------------------------------------------------------- methods


class Runner(Protocol):
    """Makes the calls of operations."""

    def call(self, operation: Operation[Any], /) -> Any: ...


class InThreads:
    """A group of methods that return when all is done."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner


class InCoroutines:
    """A group of methods that are awaited."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner


class method(Generic[P, T]):
    """A method of both clients, of a function that makes its operation."""

    def __init__(self, make: Callable[Concatenate[Any, P], Operation[T]]) -> None:
        def in_threads(group: InThreads, *args: P.args, **kwargs: P.kwargs) -> T:
            call = group._runner.call(make(group, *args, **kwargs))
            try:
                return cast("T", call.run())
            except BaseException as error:
                call.fails(error)
                raise

        async def in_coroutines(group: InCoroutines, *args: P.args, **kwargs: P.kwargs) -> T:
            call = group._runner.call(make(group, *args, **kwargs))
            try:
                return cast("T", await call.run())
            except BaseException as error:
                call.fails(error)
                raise

        self.__doc__ = make.__doc__
        signature = inspect.signature(make)
        returned = str(signature.return_annotation).removeprefix("Operation[").removesuffix("]")
        functions: tuple[Any, ...] = (in_threads, in_coroutines)
        for function in functions:
            functools.update_wrapper(function, make)
            del function.__wrapped__
            function.__annotations__ = {**make.__annotations__, "return": returned}
            function.__signature__ = signature.replace(return_annotation=returned)
        self._in_threads = in_threads
        self._in_coroutines = in_coroutines

    @overload
    def __get__(self, group: InThreads, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, group: InCoroutines, owner: type[Any]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, group: None, owner: type[Any]) -> method[P, T]: ...
    def __get__(self, group: Any, owner: type[Any]) -> Any:
        if group is None:
            return self
        function = self._in_threads if isinstance(group, InThreads) else self._in_coroutines
        return function.__get__(group, owner)


class AgentMethods:
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
    ) -> Operation[CreatedAgent]:
        """Creates an agent: `POST /agents/`. Any 2xx is success.

        It is a creating request, retried as `calls.make` is. Where the answer has no `agent_id`,
        `agents.list` finds the agent by its name. Only `agent_name` is required; what the others
        mean is documented at `AgentConfig`.

        - `account`, `timeout`, `max_retries`: see `calls.make`.
        """
        config = AgentConfig(
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
        )
        return Operation(
            {"CreateAgent": _lower.agent_config(config)},
            _lift.record(CreatedAgent),
            options(account, timeout, max_retries),
            creates=True,
        )

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
        return Operation(
            {"ListAgents": _lower.text(organization_id, "organization_id")},
            _lift.record(AgentList),
            options(account, timeout, max_retries),
        )


class CallMethods:
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
    ) -> Operation[StartedCall]:
        """Makes a phone ring: `POST /make_call`.

        It is a creating request: it is retried while it is certain that it did nothing, and
        where the service asks for it (5xx, 408; `create_retry="not-sent"` turns that off,
        `create_retry="never"` every retry). Once it was handed to the network without a
        conclusive answer, it fails with `OutcomeUnknown` and is never retried. No attempt begins
        with less time left than it may need to hear the answer: `attempt_timeout`, or half of
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
        """
        request = CallRequest(
            from_agent_name=from_agent_name,
            to_phone_number=to_phone_number,
            call_context=call_context,
            extra=extra,
        )
        return Operation(
            {"MakeCall": _lower.call_request(request)},
            _lift.record(StartedCall),
            options(account, timeout, max_retries),
            creates=True,
        )

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
        return Operation(
            {"GetCallDetails": _lower.text(task_id, "task_id")},
            _lift.record(CallDetailsList),
            options(account, timeout, max_retries),
        )

    @method
    def wait_for_details(
        self,
        task_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool | None = None,
        on_progress: Callable[[Progress], object] | None = None,
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
        - `on_progress`: Is called after each request, in the thread that waits or on its event
          loop. What it raises ends the wait.
        - `poll_timeout`: In place of the client's `deadline`, for each poll. Unit: seconds.
        - `account`, `max_retries`: see `calls.make`; retries are those of a poll.
        """
        return Operation(
            {
                "WaitForCallDetails": (
                    _lower.text(task_id, "task_id"),
                    _wait(timeout, not_found_is_pending),
                )
            },
            _lift.record(CallDetailsWait),
            options(account, poll_timeout, max_retries, "poll_timeout"),
            timeout="poll_timeout",
            on_progress=on_progress,
        )


class DocketMethods:
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
    ) -> Operation[CreatedDocketV1]:
        """Makes a phone ring: `POST /api/v1/dockets`, version 1 of `dockets.create`. Arguments,
        retries and limits are the same, but there is no `external_id`."""
        request = DocketRequestV1(
            agent_id=agent_id,
            to_phone_number=to_phone_number,
            call_context=call_context,
            extra=extra,
        )
        return Operation(
            {"CreateDocket": _lower.docket_request_v1(request)},
            _lift.record(CreatedDocketV1),
            options(account, timeout, max_retries),
            creates=True,
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
        - `extra`, `account`, `timeout`, `max_retries`: see `calls.make`.
        """
        request = DocketRequest(
            agent_id=agent_id,
            to_phone_number=to_phone_number,
            call_context=call_context,
            external_id=external_id,
            extra=extra,
        )
        return Operation(
            {"CreateDocketV2": _lower.docket_request(request)},
            _lift.record(CreatedDocket),
            options(account, timeout, max_retries),
            creates=True,
        )

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
        return Operation(
            {"GetDocket": _lower.text(docket_id, "docket_id")},
            _lift.record(Docket),
            options(account, timeout, max_retries),
        )

    @method
    def wait_for(
        self,
        docket_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        account: str | None = None,
        poll_timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Operation[DocketWait]:
        """Polls the docket until it is completed or time runs out. Pauses, failed polls and
        arguments are those of `calls.wait_for_details`, but 404 ends this wait with `NotFound`
        unless `not_found_is_pending` is `True`."""
        return Operation(
            {
                "WaitForDocket": (
                    _lower.text(docket_id, "docket_id"),
                    _wait(timeout, not_found_is_pending),
                )
            },
            _lift.record(DocketWait),
            options(account, poll_timeout, max_retries, "poll_timeout"),
            timeout="poll_timeout",
            on_progress=on_progress,
        )


class WebhookMethods:
    """What the service sends by itself."""

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
        return Operation(
            {"VerifyDocketCompleted": _lower.body(body)},
            _lift.verification,
            options(account, timeout, max_retries),
        )

    def parse(self, body: str | bytes | bytearray | memoryview) -> DocketCompleted | None:
        """As the function `parse_docket_completed`; it needs neither settings nor an `await`."""
        from ._webhooks import parse_docket_completed

        return parse_docket_completed(body)


def batch(
    requests: Iterable[DocketRequest],
    timeout: float,
    account: str | None,
    item_timeout: float | None,
    max_retries: int | None,
) -> Operation[None]:
    """The creation of many dockets."""
    listed = _lower.docket_requests(requests)
    lowered = [_lower.docket_request(it, f"requests[{i}].") for i, it in enumerate(listed)]
    return Operation(
        {"CreateDocketsV2": (lowered, _lower.wait_ms(timeout, "timeout"))},
        lambda _: None,
        options(account, item_timeout, max_retries, "item_timeout"),
        creates=True,
        timeout="item_timeout",
        requests=listed,
    )


def _wait(timeout: float, not_found_is_pending: bool | None) -> dict[str, Any]:
    wait: dict[str, Any] = {"timeout_ms": _lower.wait_ms(timeout, "timeout")}
    if not_found_is_pending is not None:
        wait["not_found_is_pending"] = _lower.boolean(not_found_is_pending, "not_found_is_pending")
    return wait
