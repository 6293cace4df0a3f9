//! Many dockets, a bounded number at a time, each in an execution of its own.

use voice_calling_core::types::{DocketRequestV2, Problem};

use crate::bindings::exports::voice_calling::workflows::campaign::{
    CampaignError, CampaignOptions,
};
use crate::bindings::obelisk::types::execution::{ExecutionId, ResponseId};
use crate::bindings::obelisk::types::join_set::JoinSet;
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::workflows::types::{DocketOutcome, RunError, RunOptions};
use crate::bindings::voice_calling::workflows_obelisk_ext::docket as runs;
use crate::pace::{Pace, Pauses};
use crate::waiting::{after, next_of};

/// The engine reads the whole history again whenever the campaign goes on.
const MOST_REQUESTS: usize = 500;

/// What became of one docket.
pub type RunResult = Result<DocketOutcome, RunError>;

/// `campaign.run-campaign`
pub fn run(
    requests: &[DocketRequestV2],
    options: CampaignOptions,
) -> Result<Vec<RunResult>, CampaignError> {
    check(requests, &options).map_err(CampaignError::PermanentInvalidInput)?;
    let mut campaign = Campaign::begin();
    // What is submitted next depends only on how many runs have ended, never on which: the
    // engine may give answers that came together in another order when it replays.
    for (index, request) in requests.iter().enumerate() {
        if index >= options.max_open as usize {
            campaign.wait_for_one();
        }
        campaign.submit(request, options.run);
    }
    Ok(campaign.finish())
}

fn check(requests: &[DocketRequestV2], options: &CampaignOptions) -> Result<(), Problem> {
    let problem = |subject: &str, found: usize, allowed: String| Problem {
        subject: subject.to_owned(),
        found: found.to_string(),
        allowed,
    };
    if requests.len() > MOST_REQUESTS {
        let allowed = format!("0 to {MOST_REQUESTS} requests");
        return Err(problem("requests", requests.len(), allowed));
    }
    let max_open = options.max_open as usize;
    if !(1..=MOST_REQUESTS).contains(&max_open) {
        let allowed = format!("1 to {MOST_REQUESTS}");
        return Err(problem("options.max-open", max_open, allowed));
    }
    Pace::read(&options.run).map(drop)
}

/// The runs of a campaign.
struct Campaign {
    set: JoinSet,
    /// In the order of the requests.
    runs: Vec<ExecutionId>,
    ended: usize,
    heartbeats: Pauses,
}

impl Campaign {
    fn begin() -> Self {
        // The name is a constant of the allowed form, used once in an execution.
        let set = engine::join_set_create_named("open").expect("a name for the join set");
        let mut campaign = Self {
            set,
            runs: Vec::new(),
            ended: 0,
            heartbeats: Pauses::new(60_000, 3_600_000),
        };
        campaign.wake_later();
        campaign
    }

    /// Wakes the campaign now and then, where the engine's notice of an answer was lost.
    fn wake_later(&mut self) {
        engine::submit_delay(&self.set, after(self.heartbeats.next_ms()));
    }

    fn submit(&mut self, request: &DocketRequestV2, options: RunOptions) {
        let run = runs::run_docket_submit(&self.set, request, options);
        self.runs.push(run);
    }

    /// Waits until one more run has ended.
    fn wait_for_one(&mut self) {
        loop {
            match next_of(&self.set) {
                ResponseId::ExecutionId(_) => break,
                ResponseId::DelayId(_) => self.wake_later(),
            }
        }
        self.ended += 1;
    }

    /// Waits for all runs, and gives what became of each.
    fn finish(mut self) -> Vec<RunResult> {
        while self.ended < self.runs.len() {
            self.wait_for_one();
        }
        // All have been awaited, so that a result is missing only where the engine lost it.
        let result = |run| runs::run_docket_get(run).unwrap_or(Err(RunError::ExecutionFailed));
        self.runs.iter().map(result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(max_open: u32) -> CampaignOptions {
        CampaignOptions {
            max_open,
            run: RunOptions {
                timeout_ms: 1,
                create_within_ms: None,
                first_poll_ms: None,
                longest_poll_ms: None,
                insights_within_ms: None,
            },
        }
    }

    #[test]
    fn a_campaign_that_is_too_large_or_never_opens_a_docket_is_refused() {
        let request = DocketRequestV2 {
            agent_id: 7,
            to_phone_number: "919876543210".to_owned(),
            call_context: "{}".to_owned(),
            external_id: None,
            extra: None,
        };
        let requests = vec![request; MOST_REQUESTS + 1];
        let subject = |requests: &[DocketRequestV2], options| {
            check(requests, &options).map_err(|problem| problem.subject)
        };
        assert_eq!(subject(&requests[..MOST_REQUESTS], options(500)), Ok(()));
        assert_eq!(subject(&[], options(1)), Ok(()));
        assert_eq!(subject(&requests, options(1)), Err("requests".to_owned()));
        for max_open in [0, 501] {
            let refused = subject(&[], options(max_open));
            assert_eq!(refused, Err("options.max-open".to_owned()));
        }
        let mut never = options(1);
        never.run.timeout_ms = 0;
        assert_eq!(subject(&[], never), Err("options.timeout-ms".to_owned()));
    }
}
