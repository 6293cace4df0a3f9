//! The component as its users see it: the built file in wasmtime, against a mocked service, or one in
//! memory with virtual time. Its decisions are proven in the core and by the table of cases; these
//! tests cover its glue to WASI.

mod interface;
mod other_host;
mod once {
    //! Tests that choose the component themselves: they run once, and not again for the component
    //! for WASI 0.3.

    mod cancelled;
}
mod transport;
mod wire;
