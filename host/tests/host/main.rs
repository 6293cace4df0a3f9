//! What a program sees that embeds a component with this crate: the content and targets of
//! connections, what is kept and logged, and the fate of dropped calls.

mod log;
mod network;
mod once {
    //! Tests that choose the component themselves: they run once, and not again for the component
    //! for WASI 0.3.

    mod calls;
    mod dropped;
    mod sandbox;
}
