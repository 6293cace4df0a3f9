//! The contacts of a campaign, counted by how they ended.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// `campaign-types.campaign-summary`
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CampaignSummary {
    pub completed: u32,
    pub timed_out: u32,
    pub not_created: u32,
    pub spared: u32,
    pub unknown: u32,
    pub failed: u32,
    pub not_begun: u32,
    pub duplicate: u32,
    pub invalid: u32,
}

impl CampaignSummary {
    /// Returns the number of contacts.
    pub fn sum(mut self) -> u32 {
        self.counts().into_iter().map(|count| *count).sum()
    }

    fn counts(&mut self) -> [&mut u32; 9] {
        [
            &mut self.completed,
            &mut self.timed_out,
            &mut self.not_created,
            &mut self.spared,
            &mut self.unknown,
            &mut self.failed,
            &mut self.not_begun,
            &mut self.duplicate,
            &mut self.invalid,
        ]
    }
}

impl AddAssign for CampaignSummary {
    fn add_assign(&mut self, mut other: Self) {
        for (count, more) in self.counts().into_iter().zip(other.counts()) {
            *count += *more;
        }
    }
}
