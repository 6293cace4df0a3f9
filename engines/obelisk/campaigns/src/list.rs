//! The requests to the engine's API: the list of campaigns, their last creations, and the answers
//! to questions.

use jiff::Timestamp;
use serde::Serialize;
use voice_calling_obelisk_guest::{Api, Listed, RunId};

use crate::engine::Executions;
use crate::progress::{self, Progress};

/// The function of campaigns.
pub const CAMPAIGN: &str = "voice-calling:workflows/campaign@0.2.0.run-campaign";

/// The function of creations.
const CREATION: &str = "voice-calling:once/dockets@0.2.0.create-docket-v2";

/// Comes after every id in the engine's order.
const LAST: &str = "E_7ZZZZZZZZZZZZZZZZZZZZZZZZZ";

/// The number of campaigns on a page.
const PAGE: usize = 20;

/// The number of creations from which the end is estimated.
const CREATIONS: usize = 200;

/// `GET /campaigns`
#[derive(Debug, Serialize)]
pub struct Campaigns {
    /// The last one first.
    campaigns: Vec<Entry>,
    /// Where the next page begins; `None` if there are no more.
    next: Option<String>,
}

#[derive(Debug, Serialize)]
struct Entry {
    created_at: String,
    #[serde(flatten)]
    progress: Progress,
}

/// Returns a page of the campaigns. The error is a reason for people.
pub fn campaigns<E: Executions>(
    engine: &E,
    api: &Api,
    before: Option<&RunId>,
) -> Result<Campaigns, String> {
    let before = before.map_or(LAST, RunId::as_str);
    let filter = format!("ffqn_prefix={CAMPAIGN}&cursor={before}&length={PAGE}");
    Ok(page(engine, api.list(&filter)?))
}

fn page<E: Executions>(engine: &E, listed: Vec<Listed>) -> Campaigns {
    let is_full = listed.len() == PAGE;
    let last = listed.last().map(|it| it.execution_id.clone());
    let entry = |it: Listed| {
        Some(Entry {
            progress: progress::of(engine, &it.execution_id)?,
            created_at: it.created_at,
        })
    };
    Campaigns {
        campaigns: listed.into_iter().filter_map(entry).collect(),
        next: last.filter(|_| is_full),
    }
}

/// Returns when the last creations of a campaign were begun, the last one first.
pub fn creations(api: &Api, campaign: &RunId) -> Result<Vec<Timestamp>, String> {
    let listed = api.list(&format!(
        "ffqn_prefix={CREATION}&execution_id_prefix={campaign}.&show_derived=true&length={CREATIONS}"
    ))?;
    let moments = listed.iter().map(|it| it.created_at.parse());
    let moments: Result<_, jiff::Error> = moments.collect();
    moments.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::Status;
    use crate::engine::tests::Tree;

    #[test]
    fn a_full_page_says_where_the_next_one_begins() {
        let listed = |count| {
            let listed = |n| Listed {
                execution_id: format!("E_{n}"),
                created_at: "2026-01-01T00:00:00Z".to_owned(),
            };
            (0..count).map(listed).collect()
        };
        let tree = Tree::default().and("E_0", Status::Going);
        let tree = tree.returned("E_0.n:campaign_1", r#""pause no \"token\"""#);
        let short = serde_json::to_value(page(&tree, listed(PAGE - 1))).unwrap();
        let campaign = &short["campaigns"][0];
        assert_eq!(campaign["created_at"], "2026-01-01T00:00:00Z");
        assert_eq!(
            (&campaign["campaign"], &campaign["error"], &short["next"]),
            (&json!("E_0"), &json!("no \"token\""), &json!(null))
        );
        assert_eq!(page(&tree, listed(PAGE)).next.as_deref(), Some("E_19"));
    }
}
