//! The machine, as a host sees it: events in, effects out.

mod abandoned;
mod answers;
mod batches;
mod calls;
mod many;
mod random;
mod stage;
mod time;
