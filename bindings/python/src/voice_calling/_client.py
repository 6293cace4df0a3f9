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
from ._settings import Option
from ._types import (
    AgentConfig,
    AgentSummary,
    AgentText,
    CallDetails,
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
    ) -> CreatedAgent:
        """Creates an agent: `POST /agents/`. Any 2xx is success.

        It is a creating request, repeated as `calls.make` is. Where the answer has no
        `agent_id`, `agents.list` finds the agent by its name.

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
        )

    def list(
        self,
        organization_id: str,
    ) -> builtins.list[AgentSummary]:
        """Lists the agents of an organization: `GET
        /api/v1/agents?organizationId=<organization-id>`.

        `organization_id` is not empty and has no control characters; how to obtain it is not
        specified.
        """
        return self._call(
            _interface.LIST_AGENTS,
            organization_id,
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
        call_context: Json | None = None,
        extra: Json | None = None,
    ) -> StartedCall:
        """Makes a phone ring: `POST /make_call`.

        It is a creating request: it is repeated while it is certain that it did nothing, and
        where the service asks for it (5xx, 408; `create_retry="not-sent"` turns that off). Once
        it was handed to the network without a conclusive answer, it fails with `OutcomeUnknown`
        and is never repeated.

        - `from_agent_name`: The agent that calls; not empty. May be `None` only where `extra` is
          given, which then has to select the agent: the service also knows agents by phone
          number, but the name of that field is not specified.
        - `to_phone_number`: The number to be called; not empty, without control characters. Its
          format is not specified.
        - `call_context`: `extra_config.call_context`: a JSON object with text values, the
          variables of the agent's prompt. `None` leaves `extra_config` out.
        - `extra`: A JSON object whose members are added to the request. Members that this record
          has a field for are refused.
        """
        return self._call(
            _interface.MAKE_CALL,
            CallRequest(
                from_agent_name=from_agent_name,
                to_phone_number=to_phone_number,
                call_context=call_context,
                extra=extra,
            ),
        )

    def get_details(
        self,
        task_id: str,
    ) -> builtins.list[CallDetails]:
        """What is known of a task's calls: `GET /call_details/{task_id}`. An empty list is an
        answer; a lone object counts as a list of one.

        `task_id` is not empty, not `.` or `..`, without control characters; it is sent as one
        percent-encoded path segment. What the service answers before the call is completed, or
        to an unknown task, is not specified.
        """
        return self._call(
            _interface.GET_CALL_DETAILS,
            task_id,
        )

    def wait_for_details(
        self,
        task_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool = True,
    ) -> CallDetailsWait:
        """Asks for a task's details until there is at least one record and all are ready, or time
        runs out: then `completed` is false.

        Each poll is a whole `calls.get_details`, with attempts and a deadline of its own. The
        pause after the first is `backoff`; it doubles up to `max_backoff`, without jitter, and
        is longer where `Retry-After` asks for it. A pause that does not fit into the time that
        is left ends the wait, which may so end before `timeout`. A poll that fails in a way that
        may pass (`RateLimited`, `Unavailable`, `Unreachable`, `TimedOut`) does not end it,
        unless every poll did: then the last error is raised. For waits of hours on a workflow
        engine, let the workflow sleep and call `calls.get_details`.

        - `timeout`: How long to wait at most. Unit: seconds; 0.001 or more.
        - `not_found_is_pending`: Whether an answer of 404 means "not yet". Without it, 404 ends
          the wait with `NotFound`. What the service answers before a call is completed is not
          specified. `True` suits a task id that `calls.make` has just returned (a wrong one then
          waits until time runs out); `False` suits a docket.
        """
        return self._call(
            _interface.WAIT_FOR_CALL_DETAILS,
            task_id,
            WaitOptions(
                timeout=timeout,
                not_found_is_pending=not_found_is_pending,
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
    ) -> CreatedDocketV1:
        """Makes a phone ring: `POST /api/v1/dockets`.

        It is a creating request: it is repeated while it is certain that it did nothing, and
        where the service asks for it (5xx, 408; `create_retry="not-sent"` turns that off). Once
        it was handed to the network without a conclusive answer, it fails with `OutcomeUnknown`
        and is never repeated.

        - `agent_id`: See `agents.list`.
        - `to_phone_number`: Exactly 12 ASCII digits, the country code included, no `+`:
          `919876543210`.
        - `call_context`: `extra_config.call_context`: a JSON object, free-form. The fetched
          docket and the webhook return it, so it is the place for an identifier of your own by
          which to find the docket again.
        - `extra`: A JSON object whose members are added to the request. Members that this record
          has a field for are refused.
        """
        return self._call(
            _interface.CREATE_DOCKET,
            DocketRequestV1(
                agent_id=agent_id,
                to_phone_number=to_phone_number,
                call_context=call_context,
                extra=extra,
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
    ) -> CreatedDocket:
        """Makes a phone ring: `POST /api/v2/dockets`, which takes an `external_id` and answers
        whether the docket was created. Otherwise as `dockets.create_v1`.

        - `agent_id`: See `agents.list`.
        - `to_phone_number`: Exactly 12 ASCII digits, the country code included, no `+`:
          `919876543210`.
        - `call_context`: `extra_config.call_context`: a JSON object, free-form. The fetched
          docket and the webhook return it, so it is the place for an identifier of your own by
          which to find the docket again.
        - `external_id`: An identifier of your own, such as a CRM id. It is not known to prevent
          duplicates.
        - `extra`: A JSON object whose members are added to the request. Members that this record
          has a field for are refused.
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
        )

    def get(
        self,
        docket_id: str,
    ) -> Docket:
        """The docket as it stands: `GET /api/v1/dockets/{docket_id}`.

        `docket_id` is a UUID in its hyphenated form (36 characters).
        """
        return self._call(
            _interface.GET_DOCKET,
            docket_id,
        )

    def wait_for(
        self,
        docket_id: str,
        *,
        timeout: float,
        not_found_is_pending: bool = False,
    ) -> DocketWait:
        """Asks for the docket until its status is `COMPLETED` or time runs out: then `completed` is
        false. Pauses and failed polls are as in `calls.wait_for_details`.

        - `timeout`: How long to wait at most. Unit: seconds; 0.001 or more.
        - `not_found_is_pending`: Whether an answer of 404 means "not yet". Without it, 404 ends
          the wait with `NotFound`. What the service answers before a call is completed is not
          specified. `True` suits a task id that `calls.make` has just returned (a wrong one then
          waits until time runs out); `False` suits a docket.
        """
        return self._call(
            _interface.WAIT_FOR_DOCKET,
            docket_id,
            WaitOptions(
                timeout=timeout,
                not_found_is_pending=not_found_is_pending,
            ),
        )

    def create_many(
        self,
        requests: Iterable[DocketRequest],
        *,
        timeout: float,
    ) -> builtins.list[CreatedDocket | RequestError]:
        """Makes phones ring: `POST /api/v2/dockets` for each request, at most `max_in_flight` at a
        time.

        `requests`: 0 to 1000; none gives an empty list. The results are in the order of the
        requests, one for each, and one failure never hides another. A rate limit that one
        request meets slows all of them. A request that is not allowed fails in its place, and
        the others are sent.

        `timeout`: how long requests may be begun; seconds, 0.001 or more. Those that were not
        begun by then are `TimedOut` with no attempts. Those that were are finished, each within
        `deadline`, so that no docket id is lost.

        An answer in a batch may have 16384 bytes (`max_response_bytes`, where that is less): a
        larger one is `UnexpectedResponse`, which has its beginning.

        The outer error is `ConfigurationProblem`, or `InvalidInput` for `requests` or `timeout`;
        then nothing was sent.

        Many dockets in one call, for hosts that do not replay.

        Not for workflow engines: a crash in the middle of the batch would replay all of it, and
        call people twice. There, use one `dockets.create` for each docket.
        """
        return self._call(
            _interface.CREATE_DOCKETS_V2,
            requests,
            timeout,
        )


class Webhooks:
    """What the service sends by itself."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def parse_docket_completed(
        self,
        body: bytes | bytearray | memoryview | str,
    ) -> DocketCompleted | None:
        """Reads the body of a webhook delivery (section "Events" of the service's specification).
        It is pure: it needs no settings and sends nothing.

        - A completed docket is returned. A value in it that has another type than the specified
          one costs only itself.
        - `None`: JSON, but not the completion of a docket. The service mentions call-level
          webhooks too. The completion of a docket is an object with a `docket_id` and at least
          one of `attempts`, `dashboard_url`, `call_insights.call_disposition`, or a
          `call_insights` that is null.
        - `InvalidInput`: broken. It is no JSON, or the completion of a docket whose `docket_id`
          is not a text or is empty. More than 1 MiB is `InvalidInput`; bodies are read one after
          another.
        """
        return self._call(
            _interface.PARSE_DOCKET_COMPLETED,
            body,
        )


class VoiceClient(Client):
    """A client of the voice-calling service, for any number of threads. What is not given here is
    taken from the environment, from the variables with the prefix `VOICE_CALLING_`. Settings are
    checked by the first call: `ConfigurationProblem` names the one at fault.

    Ctrl-C ends a call at once with `KeyboardInterrupt`. No further attempt is sent then, but
    what was on the way may have been processed: a phone may ring.

    - `base_url`: The service: http(s)://host[:port][/path]; http only to loopback. Required.
    - `token`: The organization's token, without `Bearer `. It is sent as the header `auth_token:
      Bearer <token>`. Required.
    - `max_attempts`: Attempts of an operation, of an item of a batch, of a poll of a wait; 1 to
      100. Default: 4.
    - `backoff`: The ceiling of the first pause, doubled from then on; the pause itself is drawn
      below it. Unit: seconds. Default: 0.25.
    - `max_backoff`: The highest ceiling, and the longest pause between polls; the service may
      ask for more. Unit: seconds. Default: 8.
    - `connect_timeout`: For a connection, TLS included. Unit: seconds. Default: 3.
    - `attempt_timeout`: For an attempt, the body included. Unit: seconds. Default: 10.
    - `deadline`: For an operation, an item of a batch, a poll of a wait. Unit: seconds. Default:
      30.
    - `create_retry`: Whether what creates something is repeated after 5xx and 408, as the
      service asks for. Default: `"server-errors"`; or `"not-sent"`.
    - `max_in_flight`: Open requests of a batch; 1 to 100000. Default: 16.
    - `max_request_bytes`: The body of a request; 1 to 67108864. Default: 1048576.
    - `max_response_bytes`: The body of an answer; 1 to 67108864; in a batch 16384 at the most.
      Default: 8388608.
    - `allow_insecure_http`: Whether plain http may go to a host that is not loopback. Default:
      False.
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
        environ: Mapping[str, str] | None = None,
        max_workers: int = MAX_WORKERS,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        options: dict[Option, object] = {
            Option("base_url", "BASE_URL", "text"): base_url,
            Option("token", "API_TOKEN", "secret"): token,
            Option("max_attempts", "MAX_ATTEMPTS", "count"): max_attempts,
            Option("backoff", "BACKOFF_MS", "seconds"): backoff,
            Option("max_backoff", "MAX_BACKOFF_MS", "seconds"): max_backoff,
            Option("connect_timeout", "CONNECT_TIMEOUT_MS", "seconds"): connect_timeout,
            Option("attempt_timeout", "ATTEMPT_TIMEOUT_MS", "seconds"): attempt_timeout,
            Option("deadline", "DEADLINE_MS", "seconds"): deadline,
            Option("create_retry", "CREATE_RETRY", "choice"): create_retry,
            Option("max_in_flight", "MAX_IN_FLIGHT", "count"): max_in_flight,
            Option("max_request_bytes", "MAX_REQUEST_BYTES", "count"): max_request_bytes,
            Option("max_response_bytes", "MAX_RESPONSE_BYTES", "count"): max_response_bytes,
            Option("allow_insecure_http", "ALLOW_INSECURE_HTTP", "flag"): allow_insecure_http,
        }
        super().__init__(options, environ, max_workers, cache_dir)
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
