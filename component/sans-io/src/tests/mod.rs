//! The machine, as a host sees it: events in, effects out.

mod batches;
mod cancelled;
mod ledger;
mod many;
mod responses;
mod stage;
mod time;
