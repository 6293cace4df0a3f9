//! Another campaign for those contacts of which certainly no phone rang.

use serde_json::{Value, json};
use voice_calling_obelisk_guest::{Api, Ending, RunId, Submission};

/// The function of campaigns.
pub(crate) const CAMPAIGN: &str = "voice-calling:workflows/campaign@0.2.0.run-campaign";

/// Submits a campaign with the contacts of another one that may be retried, and with its options.
/// Returns its id, which follows from that of the other one: a repetition submits the same again,
/// and the engine runs it once. The error is a status and a reason.
pub(crate) fn submit(
    api: &Api,
    campaign: &RunId,
    not_created: u32,
) -> Result<RunId, (u16, String)> {
    let never = |reason: String| (409_u16, reason);
    let not_now = |reason: String| (503_u16, reason);
    // While it goes on, another contact may become one of them.
    if api.ending(campaign.as_str()).map_err(not_now)? != Some(Ending::Ok) {
        return Err(never("the campaign has not ended".to_owned()));
    }
    if not_created == 0 {
        return Err(never("no contact is not_created".to_owned()));
    }
    let other = campaign.next();
    let other = other.ok_or_else(|| never("its id is the last one".to_owned()))?;
    let params = api.params(campaign.as_str()).map_err(not_now)?;
    let submission = Submission {
        ffqn: CAMPAIGN,
        params: retried(campaign, params),
        paused: false,
    };
    match api.submit(&other, &submission).map_err(not_now)? {
        200 | 201 => Ok(other),
        409 => Err(never(format!("{other} is another execution"))),
        status => Err(not_now(format!("the engine answered {status}"))),
    }
}

/// Returns the parameters of the other campaign.
fn retried(campaign: &RunId, params: Vec<Value>) -> Value {
    json!([{ "source": campaign.as_str() }, params.into_iter().nth(1)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::tests::ID;

    #[test]
    fn the_other_campaign_has_the_options_of_the_first() {
        let id = RunId::read(ID).unwrap();
        let params = vec![json!({"source": "https://a"}), json!({"max_open": 1})];
        let expected = json!([{ "source": ID }, { "max_open": 1 }]);
        assert_eq!(retried(&id, params), expected);
    }
}
