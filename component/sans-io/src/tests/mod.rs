//! The machine, as a host sees it: events in, effects out.

mod answers;
mod batches;
mod cancelled;
mod ledger;
mod many;
mod random;
mod requests;
mod stage;
mod time;
