//! Sets a smaller stack than the linker's megabyte: a host that resets a memory for its next
//! instance examines all of it. The tests pass with 16 KiB as well; a call that needs more than
//! this traps.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|it| it == "wasm32") {
        println!("cargo::rustc-link-arg-cdylib=-zstack-size=131072");
    }
}
