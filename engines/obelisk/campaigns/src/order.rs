//! Gives an order of the operator to a campaign.

use serde_json::json;
use voice_calling_obelisk_guest::campaign::{CAMPAIGN, OPERATOR, Order};
use voice_calling_obelisk_guest::{Api, RunId};
use wasi::clocks::monotonic_clock;
use wasi::random::random::get_random_u64;

/// The function of the stubs for orders.
const ORDER: &str = "voice-calling:waits/campaign@0.2.0.order";

/// The number of attempts, as a campaign may be about to submit the stub of its next order.
const TRIES: u32 = 10;

const PAUSE_MS: u64 = 500;

/// The longest time between a gate's answer and the creation that it allows: asking the gate and
/// connecting to the service.
const IN_FLIGHT_MS: u64 = 5_000;

/// Gives an order. After a pause or a stop, returns when no creation can be sent any more. The error
/// is a reason for people.
pub(crate) fn give(api: &Api, campaign: &RunId, order: Order) -> Result<(), String> {
    let text = order.to_text(&format!("{OPERATOR}{:016x}", get_random_u64()));
    let value = json!({ "ok": text }).to_string();
    let (mut why, mut kept) = (String::new(), None);
    for _ in 0..TRIES {
        let stub = kept.take().map_or_else(|| find(api, campaign), Ok);
        why = match stub.and_then(|stub| api.stub(kept.insert(stub), &value)) {
            Ok(200) => {
                if order != Order::Resume {
                    // By then, creations that were granted just before are sent or given up.
                    sleep(IN_FLIGHT_MS);
                }
                return Ok(());
            }
            Ok(status) => {
                if status == 409 {
                    // Another order came first.
                    kept = None;
                }
                format!("the engine answered {status}")
            }
            // The stub may have the order: there it is accepted again, and in the next one it would
            // be given twice.
            Err(reason) => reason,
        };
        sleep(PAUSE_MS);
    }
    Err(why)
}

/// Returns the stub into which the next order goes. One at most is open at a time.
fn find(api: &Api, campaign: &RunId) -> Result<String, String> {
    let open = api.open(campaign, ORDER, 1)?.into_iter().next();
    // The campaign's own.
    let stub = open.filter(|it| {
        let id = it.execution_id.strip_prefix(campaign.as_str());
        id.is_some_and(|id| id.starts_with(&format!(".n:{CAMPAIGN}_")))
    });
    let stub = stub.ok_or_else(|| "the campaign does not wait for an order".to_owned())?;
    Ok(stub.execution_id)
}

fn sleep(ms: u64) {
    monotonic_clock::subscribe_duration(ms * 1_000_000).block();
}
