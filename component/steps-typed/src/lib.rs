//! The machine of steps as a WebAssembly component: typed values in and out.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
#[cfg(target_arch = "wasm32")]
#[path = "../../p2/src/heap.rs"]
mod heap;

use bindings::exports::voice_calling::client_steps::steps::Guest;
use std::cell::RefCell;
use voice_calling_steps::client_types::{DocketCompleted, RequestError};
use voice_calling_steps::types::{Event, Random, Stepped};
use voice_calling_steps::{DEFAULT_MAX_DELIVERY_BYTES, Steps};

/// The types are imported here, so that they are those of the machine. The component exports
/// them: `cargo xtask build` gives it the world `plugin`, which looks the same to its functions.
#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        inline: "
            package voice-calling:guest;
            world guest {
                import voice-calling:client-steps/types@0.2.0;
                export voice-calling:client-steps/steps@0.2.0;
            }
        ",
        path: ["../../wit", "../../wit-steps"],
        world: "voice-calling:guest/guest",
        with: {
            "voice-calling:client/types@0.2.0": voice_calling_steps::client_types,
            "voice-calling:client-steps/types@0.2.0": voice_calling_steps::types,
        },
    });
    use super::Plugin;
    export!(Plugin);
}

thread_local! {
    static STEPS: RefCell<Option<Steps>> = const { RefCell::new(None) };
}

/// What the component exports.
struct Plugin;

impl Guest for Plugin {
    fn configure(environment: Vec<(String, String)>, random: Random) -> Result<(), RequestError> {
        STEPS.with_borrow_mut(|steps| {
            // Another would forget the operations that are under way.
            assert!(steps.is_none(), "the client is already configured");
            *steps = Some(Steps::configure(environment, random)?);
            Ok(())
        })
    }

    fn step(events: Vec<Event>, now_ms: u64, unix_s: u64) -> Stepped {
        STEPS.with_borrow_mut(|steps| {
            let steps = steps.as_mut().expect("a configured client");
            steps.step(events, now_ms, unix_s)
        })
    }

    fn parse_docket_completed(body: String) -> Result<Option<DocketCompleted>, RequestError> {
        let max_bytes = STEPS.with_borrow(|steps| {
            let steps = steps.as_ref();
            steps.map_or(DEFAULT_MAX_DELIVERY_BYTES, Steps::max_delivery_bytes)
        });
        voice_calling_steps::parse_docket_completed(&body, max_bytes)
    }
}
