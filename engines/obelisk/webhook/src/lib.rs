//! The receiver of the service's webhook.
//!
//! It trusts nothing: a caller without the path's secret learns nothing, and the client, which
//! `cargo xtask obelisk build` plugs in, verifies each delivery with the service. The waiting run is
//! notified through the engine's API, and the engine stores nothing else. A delivery that cannot be
//! verified, or given to its run, within seconds is accepted (202) and left to the workflow
//! `deliveries.deliver`.

mod delivery;

use bindings::obelisk::log::log;
use voice_calling_obelisk_guest::{MOST_DOCUMENT_BYTES, Reply, admits, body, variable};
use wasi::exports::http::incoming_handler::Guest;
use wasi::http::types::{IncomingRequest, ResponseOutparam};

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit", "../operator/wit", "../once/wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/webhook",
        with: { "voice-calling:types/types@0.2.0": voice_calling_core::types },
        generate_all,
    });
}

#[allow(unsafe_code)]
mod exports {
    use super::Receiver;
    wasi::http::proxy::export!(Receiver);
}

/// The variable that holds the secret. Deliveries are not signed: only the secret distinguishes a
/// delivery of the service from any other.
const SECRET: &str = "VOICE_CALLING_WEBHOOK_SECRET";

/// The part of the path that the engine passes as a variable.
const PATH_SECRET: &str = "path_secret";

struct Receiver;

impl Guest for Receiver {
    fn handle(request: IncomingRequest, response_out: ResponseOutparam) {
        let reply = match receive(&request) {
            Ok(reply) | Err(reply) => reply,
        };
        reply.send(response_out);
    }
}

fn receive(request: &IncomingRequest) -> Result<Reply, Reply> {
    let environment = wasi::cli::environment::get_environment();
    let given = variable(&environment, PATH_SECRET);
    match admits(&environment, SECRET, given.as_bytes()) {
        Ok(true) => {}
        // The same answer as for any unknown path.
        Ok(false) => return Err(Reply::reason(404, "not found")),
        Err(why) => {
            log::error(&why);
            return Err(Reply::reason(503, "the receiver is not configured"));
        }
    }
    let body = body(request, MOST_DOCUMENT_BYTES)?;
    Ok(delivery::take(&body, &environment))
}
