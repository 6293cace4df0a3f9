"""Runs the workflows of `dockets.py`, and receives the service's webhook on port WEBHOOK_PORT."""

import asyncio
import os
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from signal import SIGINT, SIGTERM
from threading import Thread

import voice_calling as vc
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.service import RetryConfig, RPCError, RPCStatusCode
from temporalio.worker import Worker

from campaign import Campaign
from dockets import DEADLINE, Activities, Docket


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
    config = ClientConfig.load_client_connect_config()
    # An answer is not lost while the server restarts.
    retry = RetryConfig(max_elapsed_time_millis=60_000, max_retries=1000)
    config.setdefault("target_host", "localhost:7233")
    client = await Client.connect(**config, retry_config=retry)
    voice = vc.AsyncVoiceClient(create_retry="not-sent", max_in_flight=200)
    activities, loop, stop = (
        Activities(voice),
        asyncio.get_running_loop(),
        asyncio.Event(),
    )

    class Webhook(BaseHTTPRequestHandler):
        timeout = 10

        def do_POST(self) -> None:
            delivery = b"".join(self.parts()).decode(errors="replace")
            work = status_for(delivery, client, activities)
            self.send_response(asyncio.run_coroutine_threadsafe(work, loop).result())
            self.end_headers()

        def parts(self) -> Iterator[bytes]:
            if self.headers["transfer-encoding"] is None:
                yield self.rfile.read(int(self.headers["content-length"] or 0))
                return
            while size := int(self.rfile.readline(), 16):  # of a chunk
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()

    server = ThreadingHTTPServer(
        ("127.0.0.1", int(os.environ.get("WEBHOOK_PORT", "9000"))), Webhook
    )
    Thread(target=server.serve_forever, daemon=True).start()
    for each in (SIGINT, SIGTERM):
        loop.add_signal_handler(each, stop.set)
    async with Worker(
        client,
        task_queue="voice-calling",
        workflows=[Docket, Campaign],
        activities=[activities.create, activities.verify],
        max_concurrent_activities=100,
        graceful_shutdown_timeout=DEADLINE,  # a create in flight gets its answer
    ):
        print("ready", flush=True)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
