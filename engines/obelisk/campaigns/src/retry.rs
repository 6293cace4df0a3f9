//! Another campaign for those contacts of which certainly no phone rang.

use serde_json::{Value, json};
use voice_calling_obelisk_guest::campaign::MOST_CONTACTS;
use voice_calling_obelisk_guest::{Api, RunId};

use crate::campaign::{self, Try};
use crate::engine::{Executions, Status};
use crate::list::CAMPAIGN;
use crate::row::{Ending, State};

/// Submits a campaign with the contacts of another one that are `not_created`, and with its options.
/// Returns its id, which follows from that of the other one: a repetition submits the same again,
/// and the engine runs it once. The error is a status and a reason.
pub fn submit<E: Executions>(
    engine: &E,
    api: &Api,
    campaign: &RunId,
) -> Result<RunId, (u16, String)> {
    let never = |reason: String| (409_u16, reason);
    let not_now = |reason: String| (503_u16, reason);
    let runs = not_created(engine, campaign.as_str()).map_err(never)?;
    let other = campaign.next();
    let other = other.ok_or_else(|| never("its id is the last one".to_owned()))?;
    let params = params(campaign.as_str(), &runs, |id| api.params(id)).map_err(not_now)?;
    match api.submit(&other, CAMPAIGN, &params).map_err(not_now)? {
        200 | 201 => Ok(other),
        409 => Err(never(format!("{other} is another execution"))),
        status => Err(not_now(format!("the engine answered {status}"))),
    }
}

/// Returns the runs of a campaign that ended `not_created`.
fn not_created<E: Executions>(engine: &E, campaign: &str) -> Result<Vec<String>, String> {
    // While it goes on, another contact may become one of them, and the repetition another request.
    if engine.status(campaign) != Status::Ok {
        return Err("the campaign has not ended".to_owned());
    }
    let control = campaign::control(engine, campaign);
    let segments = campaign::segments(engine, campaign, &control);
    let runs = segments.flat_map(|segment| segment.runs(engine).collect::<Vec<_>>());
    let is_not_created = |run: &Try| match run {
        Try::Returned(Ending::Ended(row)) => row.state == State::NotCreated,
        _ => false,
    };
    let runs: Vec<_> = runs.filter(|(_, run)| is_not_created(run)).collect();
    match runs.len() {
        0 => Err("no contact is not_created".to_owned()),
        1..=MOST_CONTACTS => Ok(runs.into_iter().map(|(id, _)| id).collect()),
        count => Err(format!(
            "{count} contacts; allowed: {MOST_CONTACTS} or less"
        )),
    }
}

/// Returns the parameters of the other campaign, made of those of executions.
fn params(
    campaign: &str,
    runs: &[String],
    of: impl Fn(&str) -> Result<Vec<Value>, String>,
) -> Result<Value, String> {
    let part = |id: &str, index: usize, name: &str| {
        let value = of(id)?.into_iter().nth(index);
        value.ok_or_else(|| format!("{id} has no {name}"))
    };
    let options = part(campaign, 1, "options")?;
    let entry = |run: &String| {
        let mut contact = part(run, 0, "contact")?;
        let mut entry = contact["request"].take();
        // The calling hours of the person.
        entry["time_zone"] = contact["time_zone"].take();
        Ok(entry)
    };
    let entries: Vec<_> = runs.iter().map(entry).collect::<Result<_, String>>()?;
    Ok(json!([{ "listed": entries }, options]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tests::{Tree, completed, given_up};

    fn refused(index: u32) -> String {
        given_up(index).replace("given_up", "not_created")
    }

    #[test]
    fn only_contacts_that_were_certainly_not_called_are_taken_up() {
        let tree = Tree::default()
            .and("C.n:segment_1", Status::Ok)
            .and("C.n:segment_1.n:open_1", Status::Ok)
            .returned("C.n:segment_1.n:open_2", &completed(0))
            .returned("C.n:segment_1.n:open_3", &refused(1))
            .returned("C.n:segment_1.n:open_4", r#"{"again":{"index":2}}"#)
            .and("C.n:segment_1.n:open_5", Status::Failed)
            .returned("C.n:segment_1.n:open_6", &given_up(2))
            .returned("C.n:segment_1.n:open_7", &refused(3));
        let ended = tree.clone().and("C", Status::Ok);
        let expected = ["3", "7"].map(|it| format!("C.n:segment_1.n:open_{it}"));
        assert_eq!(not_created(&ended, "C").unwrap(), expected);
        // While the campaign goes on, none is.
        assert!(not_created(&tree.and("C", Status::Going), "C").is_err());
        let none = Tree::default().and("C", Status::Ok);
        assert!(not_created(&none, "C").is_err());
    }

    #[test]
    fn the_other_campaign_has_the_requests_and_the_options_of_the_first() {
        let of = |id: &str| match id {
            "C" => Ok(vec![json!({"source": "https://a"}), json!({"max_open": 1})]),
            "R" => Ok(vec![
                json!({"request": {"agent_id": 7}, "time_zone": "Asia/Tokyo", "tries": 3}),
            ]),
            _ => Ok(vec![]),
        };
        assert_eq!(
            params("C", &["R".to_owned()], of),
            Ok(json!([
                {"listed": [{"agent_id": 7, "time_zone": "Asia/Tokyo"}]},
                {"max_open": 1}
            ]))
        );
        assert!(params("C", &["X".to_owned()], of).is_err());
    }
}
