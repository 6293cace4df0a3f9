#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| voice_calling_fuzz::body(data));
