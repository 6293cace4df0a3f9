//! The receiver of the service's webhook.
//!
//! It trusts nothing: a caller without the path's secret learns nothing, and the client, which
//! `cargo xtask obelisk build` plugs in, verifies each delivery with the service. The waiting run is
//! notified through the engine's API, and the engine stores nothing else. A delivery that cannot be
//! verified, or given to its run, within seconds is accepted (202) and left to the workflow
//! `deliveries.deliver`.

#![deny(unsafe_code)]

mod delivery;

use bindings::obelisk::log::log;
use voice_calling_obelisk_guest::{MOST_DOCUMENT_BYTES, Reply, admits, body, variable};
use wasi::exports::http::incoming_handler::Guest;
use wasi::http::types::{IncomingRequest, ResponseOutparam};

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit", "../once/wit", "../operator/wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/webhook",
        with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
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

/// The variable with the names of the accounts, separated by commas, as in the client's settings.
const ACCOUNTS: &str = "VOICE_CALLING_ACCOUNTS";

/// The parts of the path, which the engine passes as variables.
const PATH_SECRET: &str = "path_secret";
const PATH_ACCOUNT: &str = "account";

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
    // The same answer as for any unknown path.
    let unknown = || Reply::reason(404, "not found");
    let given = variable(&environment, PATH_SECRET);
    match admits(&environment, SECRET, given.as_bytes()) {
        Ok(true) => {}
        Ok(false) => return Err(unknown()),
        Err(why) => {
            log::error(&why);
            return Err(Reply::reason(503, "the receiver is not configured"));
        }
    }
    let account = account(&environment).ok_or_else(unknown)?;
    let body = body(request, MOST_DOCUMENT_BYTES)?;
    Ok(delivery::take(&body, account, &environment))
}

/// Returns the account that the path names, or `None` if the settings do not have it. The inner
/// `None` is the account without a name.
fn account(environment: &[(String, String)]) -> Option<Option<String>> {
    let mut accounts = variable(environment, ACCOUNTS).split(',');
    match variable(environment, PATH_ACCOUNT) {
        "" => Some(None),
        name => accounts
            .any(|account| account == name)
            .then(|| Some(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_accounts_that_the_settings_name_are_known() {
        let of = |account: &str, accounts: &str| {
            let variables = [(ACCOUNTS, accounts), (PATH_ACCOUNT, account)];
            super::account(&variables.map(|(name, value)| (name.to_owned(), value.to_owned())))
        };
        let north = Some(Some("north".to_owned()));
        assert_eq!(of("north", "north"), north);
        assert_eq!(of("north", "south,north"), north);
        assert_eq!(of("", "south,north"), Some(None));
        for account in ["North", "nort", "south,north", ","] {
            assert_eq!(of(account, "south,north"), None, "{account}");
        }
        assert_eq!(of("north", ""), None);
    }
}
