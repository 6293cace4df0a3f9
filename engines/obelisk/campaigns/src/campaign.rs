//! The executions of a campaign: their ids, which the engine derives, and what each of them is.
//!
//! In a join set, the engine numbers children from 1 in the order in which they were submitted, stubs
//! and workflows alike; delays are numbered apart.

use crate::execution::{Executions, Status};
use crate::order::Order;
use crate::row::Ending;

/// The join set in which a campaign waits for orders, and for what its segments leave.
const ORDERS: &str = "campaign";

/// The join set of a campaign that has its segments.
const SEGMENTS: &str = "segment";

/// The join set of a segment: the stub of its order, then stubs for the slots that earlier segments
/// hold, then its contacts.
const PLACES: &str = "open";

/// The join set of a contact's run in which it waits: for the completion of its docket, and for
/// answers to its questions.
const WAITING: &str = "docket";

/// The join set of a contact's run that has the claims of its creations.
const CLAIMS: &str = "claim";

/// The executions in a join set, from the `first`, until there are no more.
fn children<E: Executions>(
    engine: &E,
    parent: &str,
    join_set: &str,
    first: u32,
) -> impl Iterator<Item = (String, Status)> {
    (first..)
        .map(move |position| format!("{parent}.n:{join_set}_{position}"))
        .map(|id| {
            let status = engine.status(&id);
            (id, status)
        })
        .take_while(|(_, status)| *status != Status::Missing)
}

/// The segments of a campaign.
pub fn segments<E: Executions>(
    engine: &E,
    campaign: &str,
) -> impl Iterator<Item = (String, Status)> {
    children(engine, campaign, SEGMENTS, 1)
}

/// The order that a campaign was given last.
pub fn last_order<E: Executions>(engine: &E, campaign: &str) -> Option<Order> {
    children(engine, campaign, ORDERS, 1)
        .filter(|(_, status)| *status == Status::Ok)
        .filter_map(|(id, _)| Order::read(&engine.result(&id)?))
        .last()
}

/// A run of a contact, one try to call somebody.
#[derive(Debug)]
pub enum Run {
    Going,
    Returned(Ending),
    /// The engine could not run it, or what it returned is something else.
    Failed,
}

/// The runs of a segment's contacts, with their ids.
pub fn runs<E: Executions>(engine: &E, segment: &str) -> impl Iterator<Item = (String, Run)> {
    // Stubs come before all contacts, so that what comes after the first of these is one too.
    let mut among_contacts = false;
    children(engine, segment, PLACES, 2).filter_map(move |(id, status)| {
        let run = match status {
            Status::Ok => match read(engine.result(&id).as_deref()) {
                Some(run) => run,
                None => return None,
            },
            Status::Going => Run::Going,
            Status::Failed => Run::Failed,
            Status::Missing | Status::Pending | Status::Err | Status::Cancelled => {
                if !among_contacts && !has_begun(engine, &id) {
                    return None;
                }
                match status {
                    Status::Pending => Run::Going,
                    _ => Run::Failed,
                }
            }
        };
        among_contacts = true;
        Some((id, run))
    })
}

/// What a run returned; none where it is a string: the value of a stub.
fn read(result: Option<&str>) -> Option<Run> {
    let json = result.unwrap_or_default();
    if json.starts_with('"') {
        return None;
    }
    Some(serde_json::from_str(json).map_or(Run::Failed, Run::Returned))
}

/// Whether this is a run that has done something: a stub has no children.
fn has_begun<E: Executions>(engine: &E, id: &str) -> bool {
    let has = |join_set| children(engine, id, join_set, 1).next().is_some();
    has(WAITING) || has(CLAIMS)
}

/// Whether a run that goes on has begun a creation: the text of the creating activity is in a claim.
/// The run itself closes claims by writing an error.
pub fn has_begun_creation<E: Executions>(engine: &E, run: &str) -> bool {
    children(engine, run, CLAIMS, 1).any(|(_, status)| status == Status::Ok)
}

/// The questions of a run that wait for an answer: the stubs after the one for its completion.
pub fn questions<E: Executions>(engine: &E, run: &str) -> impl Iterator<Item = String> {
    children(engine, run, WAITING, 2)
        .filter(|(_, status)| *status == Status::Pending)
        .map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    const OPEN: &str = "S.n:open";

    /// What each run is, by its position.
    fn seen(tree: &Tree) -> Vec<(String, &'static str)> {
        runs(tree, "S")
            .map(|(id, run)| {
                let kind = match run {
                    Run::Going => "going",
                    Run::Returned(_) => "returned",
                    Run::Failed => "failed",
                };
                (id.rsplit('_').next().unwrap().to_owned(), kind)
            })
            .collect()
    }

    fn at(position: &str, kind: &'static str) -> (String, &'static str) {
        (position.to_owned(), kind)
    }

    #[test]
    fn slots_and_contacts_are_told_apart() {
        let tree = Tree::default()
            .and("S.n:open_1", Status::Pending)
            .returned("S.n:open_2", r#""""#)
            .returned("S.n:open_3", r#""{\"index\":1}""#)
            .and("S.n:open_4", Status::Pending)
            .and("S.n:open_5", Status::Cancelled)
            .returned("S.n:open_6", r#"{"again":{"index":0}}"#)
            .and("S.n:open_7", Status::Pending)
            .and("S.n:open_8", Status::Going)
            .and("S.n:open_9", Status::Failed)
            .returned("S.n:open_10", "{}");
        assert_eq!(
            seen(&tree),
            [
                at("6", "returned"),
                at("7", "going"),
                at("8", "going"),
                at("9", "failed"),
                at("10", "failed")
            ]
        );
    }

    #[test]
    fn a_run_that_is_due_is_known_by_its_children() {
        let due = || {
            Tree::default()
                .and("S.n:open_1", Status::Pending)
                .and("S.n:open_2", Status::Pending)
                .and("S.n:open_3", Status::Pending)
        };
        assert_eq!(seen(&due()), []);
        let waits = due().and(&format!("{OPEN}_2.n:docket_1"), Status::Pending);
        assert_eq!(seen(&waits), [at("2", "going"), at("3", "going")]);
        let claims = due().and(&format!("{OPEN}_3.n:claim_1"), Status::Pending);
        assert_eq!(seen(&claims), [at("3", "going")]);
    }

    #[test]
    fn a_creation_has_begun_where_its_claim_is_taken() {
        let claims = |statuses: &[Status]| {
            let tree = statuses.iter().zip(1..).fold(Tree::default(), |tree, it| {
                tree.and(&format!("R.n:claim_{}", it.1), *it.0)
            });
            has_begun_creation(&tree, "R")
        };
        assert!(!claims(&[]));
        assert!(!claims(&[Status::Pending]));
        assert!(!claims(&[Status::Err, Status::Pending]));
        assert!(claims(&[Status::Ok]));
        assert!(claims(&[Status::Err, Status::Ok]));
    }

    #[test]
    fn only_questions_without_an_answer_are_open() {
        let tree = Tree::default()
            .and("R.n:docket_1", Status::Pending)
            .and("R.n:docket_2", Status::Cancelled)
            .and("R.n:docket_3", Status::Ok)
            .and("R.n:docket_4", Status::Pending);
        assert_eq!(questions(&tree, "R").collect::<Vec<_>>(), ["R.n:docket_4"]);
    }

    #[test]
    fn the_last_order_counts_whatever_else_is_written_beside_it() {
        let tree = Tree::default()
            .returned("C.n:campaign_1", r#""pause E_1""#)
            .returned("C.n:campaign_2", r#""{\"Rest\":{\"queue\":[]}}""#)
            .and("C.n:campaign_3", Status::Cancelled);
        assert_eq!(last_order(&tree, "C"), Some(Order::Pause));
        let tree = tree
            .returned("C.n:campaign_4", r#""resume E_2""#)
            .and("C.n:campaign_5", Status::Pending);
        assert_eq!(last_order(&tree, "C"), Some(Order::Resume));
        assert_eq!(last_order(&Tree::default(), "C"), None);
    }
}
