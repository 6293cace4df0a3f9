//! The exports: each takes what the host has written to memory, and leaves its answer there.
//!
//! `input(bytes)` gives the host a buffer, to be written before the next call. Every other export
//! takes so many bytes of it, and returns where the answer begins: four bytes for its length, in
//! little endian, and then the answer itself. It stays until the next call of any export.

use crate::text::Text;
use std::cell::RefCell;

#[derive(Default)]
struct Memory {
    input: Vec<u8>,
    output: Vec<u8>,
    text: Text,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

fn call(bytes: usize, function: fn(&mut Text, &[u8], &mut Vec<u8>)) -> *const u8 {
    MEMORY.with_borrow_mut(|memory| {
        let Memory {
            input,
            output,
            text,
        } = memory;
        // More would be what an earlier call has left there.
        let input = input
            .get(..bytes)
            .expect("no more than `input` gave room for");
        // Not to keep the room of the largest answer for ever.
        *output = vec![0; 4];
        function(text, input, output);
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
    call(bytes, Text::configure)
}

#[unsafe(no_mangle)]
extern "C" fn step(bytes: usize) -> *const u8 {
    call(bytes, Text::step)
}

#[unsafe(no_mangle)]
extern "C" fn parse_docket_completed(bytes: usize) -> *const u8 {
    call(bytes, Text::parse_docket_completed)
}

#[unsafe(no_mangle)]
extern "C" fn mask(bytes: usize) -> *const u8 {
    call(bytes, Text::mask)
}
