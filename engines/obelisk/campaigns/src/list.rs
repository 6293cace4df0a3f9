//! The requests to the engine's API: the list of campaigns, and their last creations.

use jiff::Timestamp;
use serde::Serialize;
use voice_calling_obelisk_guest::{Api, Listed, RunId};

use crate::engine::Executions;
use crate::progress::{self, Progress};

/// The function of campaigns.
pub const CAMPAIGN: &str = "voice-calling:workflows/campaign@0.2.0.run-campaign";

/// The function of creations.
const CREATION: &str = "voice-calling:once/dockets@0.2.0.create-docket-v2";

/// The number of campaigns in the list.
const CAMPAIGNS: usize = 20;

/// The number of creations from which the end is estimated.
const CREATIONS: usize = 200;

/// `GET /campaigns`
#[derive(Debug, Serialize)]
pub struct Campaigns {
    /// The last one first.
    campaigns: Vec<Entry>,
}

#[derive(Debug, Serialize)]
struct Entry {
    created_at: String,
    #[serde(flatten)]
    progress: Progress,
}

/// Returns the last campaigns. The error is a reason for people.
pub fn campaigns<E: Executions>(engine: &E, api: &Api) -> Result<Campaigns, String> {
    let listed = api.list(&format!("ffqn_prefix={CAMPAIGN}&length={CAMPAIGNS}"))?;
    Ok(progress_of(engine, listed))
}

fn progress_of<E: Executions>(engine: &E, listed: Vec<Listed>) -> Campaigns {
    let entry = |it: Listed| {
        Some(Entry {
            progress: progress::of(engine, &it.execution_id)?,
            created_at: it.created_at,
        })
    };
    Campaigns {
        campaigns: listed.into_iter().filter_map(entry).collect(),
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
    use super::*;
    use crate::engine::Status;
    use crate::engine::tests::Tree;

    #[test]
    fn a_campaign_is_listed_with_its_progress() {
        let listed = ["E_1", "E_0"].map(|id| Listed {
            execution_id: id.to_owned(),
            created_at: "2026-01-01T00:00:00Z".to_owned(),
        });
        let tree = Tree::default().and("E_0", Status::Going);
        let tree = tree.returned("E_0.n:campaign_1", r#""pause no \"token\"""#);
        let list = serde_json::to_value(progress_of(&tree, listed.into())).unwrap();
        let [campaign] = &list["campaigns"].as_array().unwrap()[..] else {
            panic!("{list}");
        };
        assert_eq!(campaign["created_at"], "2026-01-01T00:00:00Z");
        assert_eq!(campaign["campaign"], "E_0");
        assert_eq!(campaign["error"], r#"no "token""#);
    }
}
