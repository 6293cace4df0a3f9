//! The judgement of a failure: what follows from it for the next request.

use crate::transport::Method;
use crate::types::{FailureKind, NextStep};

/// Judges a failure of this kind, whose deciding answer had this status.
pub(crate) fn next_step(
    method: Method,
    kind: FailureKind,
    status: Option<u16>,
    may_have_created: bool,
) -> NextStep {
    match (kind, method, status) {
        _ if may_have_created => NextStep::Unknown,
        (FailureKind::OutcomeUnknown, ..) => NextStep::Unknown,
        (FailureKind::Configuration | FailureKind::Unauthorized, ..) => NextStep::FixSetting,
        // A create has a path without identifiers: it is the base URL that is wrong. A read asks
        // for something that the service does not have.
        (FailureKind::NotFound, Method::Post, _) => NextStep::FixSetting,
        (FailureKind::NotFound, Method::Get, _) => NextStep::Refused,
        // A redirect, "payment required", "method not allowed", and what a proxy asks for are not
        // about the request's content.
        (FailureKind::Rejected, _, Some(300..=399 | 402 | 405 | 407)) => NextStep::FixSetting,
        (FailureKind::Rejected | FailureKind::InvalidInput, ..) => NextStep::Refused,
        // What answers is not the service.
        (FailureKind::UnexpectedResponse, ..) => NextStep::FixSetting,
        (
            FailureKind::RateLimited
            | FailureKind::Unavailable
            | FailureKind::Unreachable
            | FailureKind::TimedOut
            | FailureKind::NotBegun,
            ..,
        ) => NextStep::RetryLater,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::rows;
    use Method::{Get, Post};

    /// A kind, its status, whether something may have been created, and what follows for a create
    /// and for a read.
    const STEPS: &str = "
        configuration       |     | no  | fix-setting | fix-setting
        invalid-input       |     | no  | refused     | refused
        unauthorized        | 401 | no  | fix-setting | fix-setting
        not-found           | 404 | no  | fix-setting | refused
        not-found           | 410 | no  | fix-setting | refused
        rejected            | 302 | no  | fix-setting | fix-setting
        rejected            | 302 | yes | unknown     |
        rejected            | 400 | no  | refused     | refused
        rejected            | 402 | no  | fix-setting | fix-setting
        rejected            | 405 | no  | fix-setting | fix-setting
        rejected            | 407 | no  | fix-setting | fix-setting
        rejected            | 409 | yes | unknown     |
        rejected            | 422 | no  | refused     | refused
        unexpected-response | 200 | yes | unknown     |
        unexpected-response | 200 | no  | fix-setting | fix-setting
        outcome-unknown     |     | yes | unknown     |
        rate-limited        | 429 | no  | retry-later | retry-later
        unavailable         | 503 | no  | retry-later | retry-later
        unreachable         |     | no  | retry-later | retry-later
        timed-out           |     | no  | retry-later | retry-later
        not-begun           |     | no  | retry-later | retry-later";

    #[test]
    fn what_follows_depends_on_the_kind_the_status_and_what_may_have_been_created() {
        for [name, status, may_have_created, of_create, of_read] in rows(STEPS) {
            let kind = FailureKind::ALL
                .into_iter()
                .find(|kind| kind.name() == name);
            let status = status.parse().ok();
            let may_have_created = may_have_created == "yes";
            for (method, expected) in [(Post, of_create), (Get, of_read)] {
                if !expected.is_empty() {
                    let found = next_step(method, kind.unwrap(), status, may_have_created);
                    assert_eq!(found.name(), expected, "{method:?} {name} {status:?}");
                }
            }
        }
    }
}
