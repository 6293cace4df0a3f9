"""Runs the workflows of dockets and campaigns, and receives the service's webhook on WEBHOOK_PORT,
under the path /VOICE_CALLING_WEBHOOK_SECRET."""

import asyncio
import os
import sys
from datetime import timedelta
from signal import SIGINT, SIGTERM
from threading import Thread

import voice_calling as vc
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.service import RetryConfig, RPCError, RPCStatusCode
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

import webhook
from campaign import Campaign
from dockets import Docket
from service import DEADLINE, Activities

SECRET = "VOICE_CALLING_WEBHOOK_SECRET"


async def status_for(delivery: str, client: Client, activities: Activities) -> int:
    """Hands a delivery to its workflow. The service is to send it again after 503."""
    try:
        docket = await activities.verify(delivery)
        if docket and docket.state != "completed":  # yet; or it is forged
            return 503
        if docket and isinstance(docket.owner, str):
            handle = client.get_workflow_handle(docket.owner.rpartition("/")[0])
            await handle.signal(Docket.completed, docket, rpc_timeout=timedelta(seconds=5))
    except vc.VoiceCallingError as error:
        return 400 if isinstance(error, vc.InvalidInputError) else 503
    except RPCError as error:  # it has ended; or Temporal is away
        return 204 if error.status == RPCStatusCode.NOT_FOUND else 503
    return 204


async def main() -> None:
    secret, port = os.environ.get(SECRET, ""), os.environ.get("WEBHOOK_PORT", "9000")
    if len(secret) < 24 or not secret.isalnum():
        sys.exit(f"{SECRET}: allowed: 24 or more letters and digits; `openssl rand -hex 24`")
    config = ClientConfig.load_client_connect_config()
    # An answer is not lost while the server restarts.
    retry = RetryConfig(max_elapsed_time_millis=60_000, max_retries=1000)
    config.setdefault("target_host", "localhost:7233")
    client = await Client.connect(**config, retry_config=retry)
    voice = vc.AsyncVoiceClient(create_retry="not-sent", max_in_flight=200)
    activities, stop = Activities(voice), asyncio.Event()
    server = webhook.server(int(port), secret, lambda it: status_for(it, client, activities))
    Thread(target=server.serve_forever, daemon=True).start()
    for each in (SIGINT, SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    async with Worker(
        client,
        task_queue="voice-calling",
        workflows=[Docket, Campaign],
        workflow_runner=SandboxedWorkflowRunner(
            SandboxRestrictions.default.with_passthrough_modules("voice_calling")
        ),
        activities=[activities.create, activities.wait_for_turn, activities.look],
        max_concurrent_activities=100,
        graceful_shutdown_timeout=DEADLINE,  # a create in flight gets its answer
    ):
        print("ready", flush=True)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
