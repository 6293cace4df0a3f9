//! The exports: each reads the input that the host has written to memory, and leaves its answer
//! there.
//!
//! `input(bytes)` gives the host a buffer to write before the next call. Every other export reads
//! so many bytes of it, and returns the address of the answer: four bytes of length, in little
//! endian, and then the answer itself. It stays until the next call of any export.

use crate::client::Client;
use std::cell::RefCell;

#[derive(Default)]
struct Memory {
    input: Vec<u8>,
    output: Vec<u8>,
    client: Client,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

fn call(bytes: usize, function: fn(&mut Client, &[u8], &mut Vec<u8>)) -> *const u8 {
    MEMORY.with_borrow_mut(|memory| {
        let Memory {
            input,
            output,
            client,
        } = memory;
        // More bytes would be what an earlier call has left there.
        let input = input
            .get(..bytes)
            .expect("no more than `input` gave room for");
        // A new buffer does not keep the capacity of the largest answer for ever.
        *output = vec![0; 4];
        function(client, input, output);
        let length = u32::try_from(output.len() - 4).expect("32 bits are enough for all of memory");
        output[..4].copy_from_slice(&length.to_le_bytes());
        output.as_ptr()
    })
}

// SAFETY of `no_mangle`: nothing else in the module has these names.

#[unsafe(no_mangle)]
extern "C" fn input(bytes: usize) -> *mut u8 {
    MEMORY.with_borrow_mut(|memory| {
        memory.input = vec![0; bytes];
        memory.input.as_mut_ptr()
    })
}

#[unsafe(no_mangle)]
extern "C" fn configure(bytes: usize) -> *const u8 {
    call(bytes, Client::configure)
}

#[unsafe(no_mangle)]
extern "C" fn step(bytes: usize) -> *const u8 {
    call(bytes, Client::step)
}

#[unsafe(no_mangle)]
extern "C" fn parse_docket_completed(bytes: usize) -> *const u8 {
    call(bytes, Client::parse_docket_completed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls a function as a host does.
    fn called(function: extern "C" fn(usize) -> *const u8, json: &str) -> String {
        let buffer = input(json.len());
        // SAFETY: `input` gave so much room.
        unsafe { buffer.copy_from_nonoverlapping(json.as_ptr(), json.len()) };
        let output = function(json.len());
        // SAFETY: the answer is as long as it says.
        unsafe {
            let length = u32::from_le_bytes(output.cast::<[u8; 4]>().read());
            let json = std::slice::from_raw_parts(output.add(4), length as usize);
            String::from_utf8(json.to_vec()).unwrap()
        }
    }

    #[test]
    fn texts_go_in_and_out_by_memory() {
        assert_eq!(called(parse_docket_completed, r#""{}""#), r#"{"Ok":null}"#);
        let not_configured = r#"{"misuse":"the client is not configured"}"#;
        let step_json = r#"{"events":[],"now_ms":0,"unix_s":0}"#;
        assert_eq!(called(step, step_json), not_configured);
        assert_eq!(
            called(configure, "{}"),
            r#"{"misuse":"missing field `environment` at line 1 column 2"}"#
        );
        assert!(called(step, "").starts_with(r#"{"misuse":"EOF"#));
    }
}
