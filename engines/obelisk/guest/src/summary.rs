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
    pub fn sum(&self) -> u32 {
        self.completed
            + self.timed_out
            + self.not_created
            + self.spared
            + self.unknown
            + self.failed
            + self.not_begun
            + self.duplicate
            + self.invalid
    }
}

impl AddAssign for CampaignSummary {
    fn add_assign(&mut self, other: Self) {
        self.completed += other.completed;
        self.timed_out += other.timed_out;
        self.not_created += other.not_created;
        self.spared += other.spared;
        self.unknown += other.unknown;
        self.failed += other.failed;
        self.not_begun += other.not_begun;
        self.duplicate += other.duplicate;
        self.invalid += other.invalid;
    }
}
