//! Finds the stub that receives the next order of a campaign.

use voice_calling_obelisk_guest::RunId;

/// The function of the stubs for orders.
pub const FFQN: &str = "voice-calling:waits/campaign@0.2.0.order";

/// The function of the questions to people.
pub const QUESTION: &str = "voice-calling:waits/person@0.2.0.decision";

/// Returns the campaign's own stub among the open ones below it, which include those of its
/// segments. If there are several, the first counts, since they are opened one after another.
pub fn next(campaign: &RunId, open: Vec<String>) -> Option<String> {
    let index = |id: &String| {
        let child = id.strip_prefix(campaign.as_str())?.strip_prefix('.')?;
        let (_, index) = child.rsplit_once('_')?;
        match child.contains('.') {
            true => None,
            false => index.parse::<u32>().ok(),
        }
    };
    let own = open.into_iter().filter_map(|id| Some((index(&id)?, id)));
    own.min().map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAMPAIGN: &str = "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA";

    fn next_of(children: &[&str]) -> Option<String> {
        let ids = children.iter().map(|child| format!("{CAMPAIGN}{child}"));
        next(&RunId::read(CAMPAIGN).unwrap(), ids.collect())
    }

    #[test]
    fn an_order_goes_to_the_campaign_and_not_to_its_segments() {
        let order = |index: u32| Some(format!("{CAMPAIGN}.n:order_{index}"));
        assert_eq!(next_of(&[]), None);
        assert_eq!(
            next_of(&[".n:segment_1.n:open_1", ".n:segment_2.n:open_1"]),
            None
        );
        assert_eq!(next_of(&[".n:segment_1.n:open_1", ".n:order_3"]), order(3));
        assert_eq!(next_of(&[".n:order_10", ".n:order_9"]), order(9));
        // The engine treats the prefix as a pattern, in which `_` is any character.
        assert_eq!(next_of(&["x.n:order_1", "X"]), None);
    }
}
