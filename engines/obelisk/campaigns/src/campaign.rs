//! The executions of a campaign: their ids, which the engine derives, and their roles.

use serde::Deserialize;
use voice_calling_obelisk_guest::RunId;
use voice_calling_obelisk_guest::campaign::{
    CAMPAIGN, CLAIMS, OPEN, Order, SEGMENTS, TOTAL, child,
};

use crate::engine::{Executions, Status};
use crate::row::Ending;

/// Returns the executions in a join set, from `first` to the last one.
fn children<E: Executions>(
    engine: &E,
    parent: &str,
    join_set: &str,
    first: u32,
) -> impl Iterator<Item = (String, Status)> {
    (first..)
        .map(move |index| child(parent, join_set, index))
        .map(|id| {
            let status = engine.status(&id);
            (id, status)
        })
        .take_while(|(_, status)| *status != Status::Missing)
}

/// Returns `true` if the execution is a campaign that has begun: it has a stub for orders.
pub fn has_begun<E: Executions>(engine: &E, id: &str) -> bool {
    engine.status(&child(id, CAMPAIGN, 1)) != Status::Missing
}

/// Returns `true` if the execution may be a campaign: one that has not begun yet looks like any
/// other running workflow.
pub fn exists<E: Executions>(engine: &E, id: &str) -> bool {
    has_begun(engine, id) || matches!(engine.status(id), Status::Pending | Status::Going)
}

/// Returns `true` if the campaign accepts orders: it has neither ended nor been stopped.
pub fn takes_orders<E: Executions>(engine: &E, id: &str) -> bool {
    matches!(engine.status(id), Status::Pending | Status::Going)
        && control(engine, id).last_order() != Some(Order::Stop)
}

/// The content of a campaign's stubs.
#[derive(Debug, Default)]
pub struct Control {
    /// The last order, and its origin or reason.
    pub order: Option<(Order, String)>,
    /// The number of contacts, once all have been read.
    pub total: Option<u32>,
    /// The number of slots that each segment holds for its predecessors.
    held: Vec<u32>,
}

/// The part of a segment's handover that is needed here.
#[derive(Deserialize)]
enum Handover {
    Rest { held: u32 },
}

pub fn control<E: Executions>(engine: &E, campaign: &str) -> Control {
    let mut control = Control {
        order: None,
        total: text(engine, &child(campaign, TOTAL, 1)).parse().ok(),
        held: vec![0],
    };
    for (id, status) in children(engine, campaign, CAMPAIGN, 1) {
        let text = match status {
            Status::Ok => text(engine, &id),
            _ => String::new(),
        };
        if let Some((order, by)) = Order::read(&text) {
            control.order = Some((order, by.to_owned()));
        } else if let Ok(Handover::Rest { held }) = serde_json::from_str(&text) {
            control.held.push(held);
        }
    }
    control
}

/// Returns the text in a stub; an empty one if there is none.
fn text<E: Executions>(engine: &E, id: &str) -> String {
    let text = engine.result(id);
    let text = text.and_then(|json| serde_json::from_str(&json).ok());
    text.unwrap_or_default()
}

impl Control {
    pub fn last_order(&self) -> Option<Order> {
        self.order.as_ref().map(|(order, _)| *order)
    }

    /// Returns the reason why the campaign paused itself.
    pub fn reason(&self) -> Option<&str> {
        match self.order.as_ref()? {
            (Order::Pause, by) => Order::reason(by),
            _ => None,
        }
    }
}

/// Returns the segments of a campaign, each with its runs. One that began after `control` was read
/// is left out: without its slots, they would be taken for runs.
pub fn segments<E: Executions>(
    engine: &E,
    campaign: &str,
    control: &Control,
) -> impl Iterator<Item = Segment> {
    children(engine, campaign, SEGMENTS, 1)
        .zip(&control.held)
        .map(|((id, status), held)| Segment {
            id,
            status,
            held: *held,
        })
}

#[derive(Debug)]
pub struct Segment {
    pub id: String,
    pub status: Status,
    held: u32,
}

/// A run of a contact: one attempt to call it.
#[derive(Debug)]
pub enum Try {
    Going,
    Returned(Ending),
    /// The engine could not run it, or its result cannot be read.
    Failed,
}

impl Segment {
    /// Returns the runs of the segment's contacts, with their ids. They follow the stub of its
    /// order and those of the slots that it holds.
    pub fn runs<E: Executions>(&self, engine: &E) -> impl Iterator<Item = (String, Try)> {
        children(engine, &self.id, OPEN, 2 + self.held).map(|(id, status)| {
            let run = match status {
                Status::Pending | Status::Going => Try::Going,
                Status::Ok => {
                    let json = engine.result(&id).unwrap_or_default();
                    serde_json::from_str(&json).map_or(Try::Failed, Try::Returned)
                }
                Status::Missing | Status::Err | Status::Cancelled | Status::Failed => Try::Failed,
            };
            (id, run)
        })
    }
}

/// Returns `true` if an active run has begun a creation: a claim contains the creating activity's
/// text. The run itself closes claims by writing an error.
pub fn has_begun_creation<E: Executions>(engine: &E, run: &str) -> bool {
    children(engine, run, CLAIMS, 1).any(|(_, status)| status == Status::Ok)
}

/// Returns the open questions of a run: the stubs after the one for its completion.
pub fn questions<E: Executions>(engine: &E, run: &str) -> impl Iterator<Item = String> {
    children(engine, run, RunId::JOIN_SET, 2)
        .filter(|(_, status)| *status == Status::Pending)
        .map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tests::Tree;

    #[test]
    fn the_last_order_counts_whatever_else_is_written_beside_it() {
        let tree = Tree::default()
            .returned("C.n:campaign_1", r#""pause operator 1""#)
            .returned("C.n:campaign_2", r#""\"Done\"""#)
            .and("C.n:campaign_3", Status::Cancelled);
        assert_eq!(control(&tree, "C").last_order(), Some(Order::Pause));
        assert_eq!(control(&tree, "C").reason(), None);
        let tree = tree
            .returned("C.n:campaign_4", r#""pause the answer is 404""#)
            .and("C.n:campaign_5", Status::Pending);
        assert_eq!(control(&tree, "C").reason(), Some("the answer is 404"));
        assert!(takes_orders(&tree.clone().and("C", Status::Going), "C"));
        let resumed = tree.returned("C.n:campaign_5", r#""resume the pause is over""#);
        assert_eq!(control(&resumed, "C").reason(), None);
        let stopped = resumed.returned("C.n:campaign_6", r#""stop E_1""#);
        assert!(!takes_orders(&stopped.and("C", Status::Going), "C"));
        assert_eq!(control(&Tree::default(), "C").last_order(), None);
    }
}
