//! The component as its users see it: the built file in wasmtime, against peers on loopback, or a
//! service in memory with virtual time. Its decisions are proven in the core and by the table of
//! cases; these tests cover its glue to WASI, and what a program sees that embeds it with the host
//! crate: the content and targets of connections, what is kept and logged, and the fate of dropped
//! calls.

mod authorities;
#[path = "../compiled/mod.rs"]
mod compiled;
mod interface;
mod log;
mod network;
mod once {
    //! Tests that choose the component themselves: they run once, and not again for the component
    //! for WASI 0.3.

    mod calls;
    mod cancelled;
    mod dropped;
    mod sandbox;
}
mod other_host;
mod peer;
mod stage;
mod transport;
