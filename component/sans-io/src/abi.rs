//! The exports. Texts go in and out by memory, at the addresses in the mailbox.
//!
//! The functions of the client take nothing and return nothing: to convert one number, some runtimes
//! need as long as for the rest of a call.

use crate::client::Client;
use std::cell::RefCell;

/// The capacity of the output that is kept, so that the largest answer is not kept for ever. Unit:
/// bytes.
const KEPT_BYTES: usize = 65_536;

/// Where the texts are. The host reads it in memory as four numbers of 32 bits, in little endian.
#[repr(C)]
struct Mailbox {
    /// The room that `reserve` made. The host writes its text here.
    input: *mut u8,
    /// The length of that text, which the host writes too. Unit: bytes.
    input_length: usize,
    /// The answer. It stays until the next call.
    output: *const u8,
    output_length: usize,
}

struct Memory {
    mailbox: Mailbox,
    input: Vec<u8>,
    output: Vec<u8>,
    client: Client,
}

thread_local! {
    static MEMORY: RefCell<Memory> = const {
        RefCell::new(Memory {
            mailbox: Mailbox {
                input: std::ptr::null_mut(),
                input_length: 0,
                output: std::ptr::null(),
                output_length: 0,
            },
            input: Vec::new(),
            output: Vec::new(),
            client: Client::new(),
        })
    };
}

fn call(function: fn(&mut Client, &[u8], &mut Vec<u8>)) {
    MEMORY.with_borrow_mut(|memory| {
        let Memory {
            mailbox,
            input,
            output,
            client,
        } = memory;
        let input = input
            .get(..mailbox.input_length)
            .expect("no more than `reserve` made room for");
        output.clear();
        output.shrink_to(KEPT_BYTES);
        function(client, input, output);
        mailbox.output = output.as_ptr();
        mailbox.output_length = output.len();
    });
}

// SAFETY of `no_mangle`: nothing else in the module has these names.

/// Returns the address of the mailbox, which stays the same.
#[unsafe(no_mangle)]
extern "C" fn mailbox() -> *mut Mailbox {
    // SAFETY: it is not read here.
    MEMORY.with(|memory| unsafe { &raw mut (*memory.as_ptr()).mailbox })
}

/// Makes room for inputs of so many bytes.
#[unsafe(no_mangle)]
extern "C" fn reserve(bytes: usize) {
    MEMORY.with_borrow_mut(|memory| {
        memory.input = vec![0; bytes];
        memory.mailbox.input = memory.input.as_mut_ptr();
    });
}

#[unsafe(no_mangle)]
extern "C" fn configure() {
    call(Client::configure);
}

#[unsafe(no_mangle)]
extern "C" fn step() {
    call(Client::step);
}

#[unsafe(no_mangle)]
extern "C" fn parse_docket_completed() {
    call(Client::parse_docket_completed);
}
