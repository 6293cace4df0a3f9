//! How an error leaves the guest: by one piece of code for all functions.
//!
//! wit-bindgen writes out for each function how its result is put into memory for the
//! host, and freed later: with twelve kinds of error that was half of the component. Here
//! a function that fails leaves its error aside and returns the one error that carries
//! nothing. [`exports`] has what is exported in the place of the generated functions: where
//! one failed, the error that was left aside goes to the host instead, as the result of a
//! function that does nothing but fail. In memory a failure looks the same whatever
//! function it comes from, since no type in our WIT is aligned more strictly than an error.

#![allow(unsafe_code)]

use bindings::exports::failing;
use std::cell::RefCell;
use voice_calling_core::types::{CallDetailsWait, CreatedAgent, DocketWait, RequestError};

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package voice-calling:guest;
            world guest {
                export failing: interface {
                    use voice-calling:client/types@0.1.0.{
                        call-details-wait, created-agent, docket-wait, request-error
                    };
                    // It never succeeds. Its result is as large as the largest that it stands
                    // in for, since a host looks whether all of it is in memory.
                    fail: func() -> result<
                        tuple<docket-wait, call-details-wait, created-agent>,
                        request-error
                    >;
                }
            }
        ",
        path: "../../wit",
        world: "voice-calling:guest/guest",
        with: { "voice-calling:client/types@0.1.0": voice_calling_core::types },
        // What would make it an export is in this macro, which nobody calls.
        pub_export_macro: true,
    });
}

thread_local! {
    static ASIDE: RefCell<Option<RequestError>> = const { RefCell::new(None) };
}

/// Leaves the error of a function aside.
#[inline(always)]
pub(crate) fn aside<R>(result: Result<R, RequestError>) -> Result<R, RequestError> {
    match result {
        Ok(returned) => Ok(returned),
        Err(error) => {
            leave(error);
            Err(RequestError::ExecutionFailed)
        }
    }
}

#[inline(never)]
fn leave(error: RequestError) {
    ASIDE.set(Some(error));
}

struct Failing;

impl failing::Guest for Failing {
    fn fail() -> Result<(DocketWait, CallDetailsWait, CreatedAgent), RequestError> {
        Err(ASIDE.take().unwrap_or(RequestError::ExecutionFailed))
    }
}

/// What a result begins with in memory, where it is no error.
const IS_OK: u8 = 0;

/// The result of a function, for the host.
unsafe fn or_failure(result: *mut u8) -> *mut u8 {
    match unsafe { result.read() } {
        IS_OK => result,
        _ => failure(),
    }
}

#[inline(never)]
fn failure() -> *mut u8 {
    unsafe { failing::_export_fail_cabi::<Failing>() }
}

#[inline(never)]
unsafe fn free_failure(result: *mut u8) {
    if unsafe { result.read() } != IS_OK {
        unsafe { failing::__post_return_fail::<Failing>(result) }
    }
}

/// Functions with the names and arguments of generated ones, which call these.
macro_rules! instead {
    ($interface:ident: $($call:ident $free:ident ($($argument:ident: $type:ty),*);)+) => {
        pub(crate) mod $interface {
            use crate::bindings::exports::voice_calling::client::$interface as generated;
            use crate::errors::{IS_OK, free_failure, or_failure};
            pub(crate) use generated::*;

            $(
                #[allow(clippy::too_many_arguments)]
                pub(crate) unsafe fn $call<T: Guest>($($argument: $type),*) -> *mut u8 {
                    unsafe { or_failure(generated::$call::<T>($($argument),*)) }
                }

                pub(crate) unsafe fn $free<T: Guest>(result: *mut u8) {
                    match unsafe { result.read() } {
                        IS_OK => unsafe { generated::$free::<T>(result) },
                        _ => unsafe { free_failure(result) },
                    }
                }
            )+
        }
    };
}

/// Laid out as wit-bindgen's macro expects it.
pub(crate) mod exports {
    pub(crate) mod voice_calling {
        pub(crate) mod client {
            instead! { agents:
                _export_create_agent_cabi __post_return_create_agent (config: *mut u8);
                _export_list_agents_cabi __post_return_list_agents (id: *mut u8, length: usize);
            }
            instead! { calls:
                _export_make_call_cabi __post_return_make_call (
                    a: i32, b: *mut u8, c: usize, d: *mut u8, e: usize, f: i32, g: *mut u8,
                    h: usize, i: i32, j: *mut u8, k: usize
                );
                _export_get_call_details_cabi __post_return_get_call_details (
                    id: *mut u8, length: usize
                );
                _export_wait_for_call_details_cabi __post_return_wait_for_call_details (
                    id: *mut u8, length: usize, timeout: i32, interval: i32
                );
            }
            instead! { dockets:
                _export_create_docket_cabi __post_return_create_docket (
                    a: i64, b: *mut u8, c: usize, d: *mut u8, e: usize, f: i32, g: *mut u8,
                    h: usize
                );
                _export_create_docket_v2_cabi __post_return_create_docket_v2 (
                    a: i64, b: *mut u8, c: usize, d: *mut u8, e: usize, f: i32, g: *mut u8,
                    h: usize, i: i32, j: *mut u8, k: usize
                );
                _export_get_docket_cabi __post_return_get_docket (id: *mut u8, length: usize);
                _export_wait_for_docket_cabi __post_return_wait_for_docket (
                    id: *mut u8, length: usize, timeout: i32, interval: i32
                );
            }
            instead! { bulk:
                _export_create_dockets_v2_cabi __post_return_create_dockets_v2 (
                    requests: *mut u8, count: usize, timeout: i32
                );
            }
            instead! { webhooks:
                _export_parse_docket_completed_cabi __post_return_parse_docket_completed (
                    body: *mut u8, length: usize
                );
            }
        }
    }
}
