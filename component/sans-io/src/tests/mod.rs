//! The machine, as a host sees it: events in, effects out.

mod abandoned;
mod answers;
mod batches;
mod many;
mod random;
mod requests;
mod stage;
mod time;
