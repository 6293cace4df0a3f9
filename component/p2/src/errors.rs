//! Lifting an error: one piece of code for all functions and all cases.
//!
//! For each function and each case of the error, wit-bindgen generates code that writes the result
//! to memory for the host and frees it later: without this file the component is half as large
//! again. Here a function that fails stashes its error and returns the one case without a
//! payload. [`exports`] is exported in place of the generated functions: if one failed, the host
//! gets the stashed error, as the result of a function that only ever fails. Errors have
//! the same layout in memory whatever function they come from, except that an error comes after
//! eight bytes if the function's success has a 64-bit member, and after four otherwise. The cases
//! differ only in their numbers, since all of them carry a failure: that function knows a single
//! one, and the number is set afterwards.

#![allow(unsafe_code)]

use bindings::exports::failing;
use bindings::exports::failing::{AnyError, Line};
use std::cell::RefCell;
use voice_calling_core::types::RequestError;

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package voice-calling:guest;
            world guest {
                export failing: interface {
                    use voice-calling:client/types@0.2.0.{failure};
                    variant any-error { execution-failed, failed(failure) }
                    // It never succeeds. Its result is as large as the largest that it stands
                    // in for, a verification of 352 bytes, since a host looks whether all of it
                    // is in memory.
                    fail: func() -> result<tuple<line, line, line, line, line, line>, any-error>;
                    type line = tuple<u64, u64, u64, u64, u64, u64, u64, u64>;
                }
            }
        ",
        path: "../../wit",
        world: "voice-calling:guest/guest",
        with: { "voice-calling:client/types@0.2.0": voice_calling_core::types },
        // The macro that would export it is never called.
        pub_export_macro: true,
    });
}

thread_local! {
    /// The error, and the number of its case.
    static STASHED: RefCell<Option<(AnyError, u8)>> = const { RefCell::new(None) };
}

/// Stashes the error of a function.
#[inline(always)]
pub(crate) fn stash<R>(result: Result<R, RequestError>) -> Result<R, RequestError> {
    match result {
        Ok(returned) => Ok(returned),
        Err(error) => {
            stash_error(error);
            Err(RequestError::ExecutionFailed)
        }
    }
}

#[inline(never)]
fn stash_error(error: RequestError) {
    // In the order of the WIT.
    let (case, failure) = match error {
        RequestError::ExecutionFailed => return,
        RequestError::PermanentConfiguration(failure) => (1, failure),
        RequestError::PermanentInvalidInput(failure) => (2, failure),
        RequestError::PermanentUnauthorized(failure) => (3, failure),
        RequestError::PermanentNotFound(failure) => (4, failure),
        RequestError::PermanentRejected(failure) => (5, failure),
        RequestError::PermanentUnexpectedResponse(failure) => (6, failure),
        RequestError::PermanentOutcomeUnknown(failure) => (7, failure),
        RequestError::RateLimited(failure) => (8, failure),
        RequestError::Unavailable(failure) => (9, failure),
        RequestError::Unreachable(failure) => (10, failure),
        RequestError::TimedOut(failure) => (11, failure),
    };
    STASHED.set(Some((AnyError::Failed(failure), case)));
}

struct Failing;

impl failing::Guest for Failing {
    fn fail() -> Result<(Line, Line, Line, Line, Line, Line), AnyError> {
        let stashed = STASHED.take();
        Err(stashed.map_or(AnyError::ExecutionFailed, |(error, _)| error))
    }
}

/// The first byte of a result in memory, which meaningless bytes follow.
const IS_OK: u8 = 0;
const IS_ERROR: u8 = 1;

/// The error of a function whose success has a member of 64 bits.
const WIDE: usize = 0;

/// The error of any other function, which has the same layout without the first four bytes.
const NARROW: usize = 4;

/// Returns the result of a function for the host.
unsafe fn or_stashed<const SKIPPED: usize>(result: *mut u8) -> *mut u8 {
    match unsafe { result.read() } {
        IS_OK => result,
        _ => unsafe {
            let failure = failure().add(SKIPPED);
            failure.write(IS_ERROR);
            failure
        },
    }
}

/// The offset of the case's number in the result of the function that fails.
const CASE: usize = 8;

/// The only case with a failure that this function knows.
const FAILED: u8 = 1;

#[inline(never)]
fn failure() -> *mut u8 {
    let case = STASHED.with_borrow(|stashed| stashed.as_ref().map_or(0, |(_, case)| *case));
    unsafe {
        let failure = failing::_export_fail_cabi::<Failing>();
        failure.add(CASE).write(case);
        failure
    }
}

#[inline(never)]
unsafe fn free_failure(failure: *mut u8) {
    unsafe {
        let case = failure.add(CASE);
        case.write(case.read().min(FAILED));
        failing::__post_return_fail::<Failing>(failure);
    }
}

/// Generates functions with the names and arguments of the generated ones, which call these. The
/// options of a call are eight arguments.
macro_rules! export_with_stash {
    ($interface:ident: $(
        $skipped:ident $call:ident $free:ident ($($argument:ident: $type:ty),* $(; $options:ident)?);
    )+) => {
        pub(crate) mod $interface {
            use crate::bindings::exports::voice_calling::client::$interface as generated;
            use crate::errors::{IS_OK, free_failure, or_stashed};
            pub(crate) use generated::*;

            $(
                export_with_stash!(@call $skipped $call ($($argument: $type),* $(; $options)?));

                pub(crate) unsafe fn $free<T: Guest>(result: *mut u8) {
                    match unsafe { result.read() } {
                        IS_OK => unsafe { generated::$free::<T>(result) },
                        _ => unsafe { free_failure(result.sub(crate::errors::$skipped)) },
                    }
                }
            )+
        }
    };
    (@call $skipped:ident $call:ident ($($argument:ident: $type:ty),*; options)) => {
        export_with_stash!(@call $skipped $call (
            $($argument: $type,)* options: i32, has_account: i32, account: *mut u8,
            account_bytes: usize, has_deadline: i32, deadline: i32, has_attempts: i32,
            attempts: i32
        ));
    };
    (@call $skipped:ident $call:ident ($($argument:ident: $type:ty),*)) => {
        #[allow(clippy::too_many_arguments)]
        pub(crate) unsafe fn $call<T: Guest>($($argument: $type),*) -> *mut u8 {
            unsafe { or_stashed::<{ crate::errors::$skipped }>(generated::$call::<T>($($argument),*)) }
        }
    };
}

/// The modules that wit-bindgen's macro expects.
pub(crate) mod exports {
    pub(crate) mod voice_calling {
        pub(crate) mod client {
            export_with_stash! { agents:
                WIDE _export_create_agent_cabi __post_return_create_agent (arguments: *mut u8);
                NARROW _export_list_agents_cabi __post_return_list_agents (
                    id: *mut u8, id_bytes: usize; options
                );
            }
            export_with_stash! { calls:
                NARROW _export_make_call_cabi __post_return_make_call (arguments: *mut u8);
                NARROW _export_get_call_details_cabi __post_return_get_call_details (
                    id: *mut u8, id_bytes: usize; options
                );
                NARROW _export_wait_for_call_details_cabi __post_return_wait_for_call_details (
                    id: *mut u8, id_bytes: usize, timeout: i32, has_pending: i32, pending: i32;
                    options
                );
            }
            export_with_stash! { dockets:
                NARROW _export_create_docket_cabi __post_return_create_docket (
                    agent: i64, number: *mut u8, number_bytes: usize, context: *mut u8,
                    context_bytes: usize, has_extra: i32, extra: *mut u8, extra_bytes: usize;
                    options
                );
                NARROW _export_create_docket_v2_cabi __post_return_create_docket_v2 (
                    arguments: *mut u8
                );
                WIDE _export_get_docket_cabi __post_return_get_docket (
                    id: *mut u8, id_bytes: usize; options
                );
                WIDE _export_wait_for_docket_cabi __post_return_wait_for_docket (
                    id: *mut u8, id_bytes: usize, timeout: i32, has_pending: i32, pending: i32;
                    options
                );
            }
            export_with_stash! { bulk:
                NARROW _export_create_dockets_v2_cabi __post_return_create_dockets_v2 (
                    requests: *mut u8, count: usize, timeout: i32; options
                );
            }
            export_with_stash! { webhooks:
                NARROW _export_parse_docket_completed_cabi __post_return_parse_docket_completed (
                    body: *mut u8, body_bytes: usize
                );
                WIDE _export_verify_docket_completed_cabi __post_return_verify_docket_completed (
                    body: *mut u8, body_bytes: usize; options
                );
            }
        }
    }
}
