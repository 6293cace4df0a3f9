//! Decides over plain data what becomes of a delivery of the service's webhook.

use voice_calling_core::types::{Docket, FailureKind, RequestError, Verification};

/// The result of asking the service about a delivery.
#[derive(Debug)]
pub enum Verdict {
    /// The docket, which confirms the delivery.
    Confirmed(Box<Docket>),
    /// The delivery is never passed to a run. It has the HTTP status for its sender.
    Refused { status: u16, reason: String },
    /// The service cannot tell yet, for this reason: it may report a docket before each of its
    /// replicas shows it, or may not be reachable.
    Open(String),
}

impl Verdict {
    pub fn of(verification: Result<Verification, RequestError>) -> Self {
        let refused = |status, reason| Self::Refused { status, reason };
        match verification {
            Ok(Verification::Confirmed(it)) => Self::Confirmed(Box::new(it.docket)),
            Ok(Verification::Contradicted(it))
                if it.contradicted.iter().all(|it| it != "status") =>
            {
                let members = it.contradicted.join(", ");
                refused(409, format!("the service contradicts it: {members}"))
            }
            Ok(Verification::NotACompletion) => {
                refused(200, "ignored: not the completion of a docket".to_owned())
            }
            Ok(Verification::Contradicted(_)) => {
                Self::Open("the docket is not completed".to_owned())
            }
            Err(RequestError::ExecutionFailed) => {
                Self::Open("the service could not be asked".to_owned())
            }
            Err(RequestError::Permanent(failure) | RequestError::Transient(failure)) => {
                match failure.kind {
                    FailureKind::InvalidInput => refused(400, failure.message),
                    _ => Self::Open(failure.message),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use voice_calling_core::types::{Failure, VerifiedCompletion};
    use voice_calling_core::{dockets, webhooks};

    use super::*;
    use crate::failure;

    fn contradicted(members: &[&str]) -> Result<Verification, RequestError> {
        let docket = r#"{"docket_id":"5b0f0c1e-8a3f-4f0e-9d5c-0c6d1f1c7a10","status":"COMPLETED"}"#;
        let delivered = webhooks::parse_docket_completed(docket, 1_024);
        Ok(Verification::Contradicted(VerifiedCompletion {
            delivered: delivered.unwrap().unwrap(),
            docket: dockets::decode(docket).unwrap(),
            contradicted: members.iter().map(|it| (*it).to_owned()).collect(),
            unverified: Vec::new(),
        }))
    }

    #[test]
    fn a_delivery_is_refused_only_if_the_service_cannot_confirm_it_later() {
        let failed = |kind| {
            Err(RequestError::from(Failure {
                kind,
                ..failure::unreachable("")
            }))
        };
        for (verification, status) in [
            (contradicted(&["call_context"]), Some(409)),
            (contradicted(&["status", "call_context"]), None),
            (Ok(Verification::NotACompletion), Some(200)),
            (failed(FailureKind::InvalidInput), Some(400)),
            (failed(FailureKind::NotFound), None),
            (failed(FailureKind::Unauthorized), None),
            (failed(FailureKind::Unreachable), None),
            (Err(RequestError::ExecutionFailed), None),
        ] {
            let of = format!("{verification:?}");
            match Verdict::of(verification) {
                Verdict::Refused { status: it, .. } => assert_eq!(Some(it), status, "{of}"),
                Verdict::Open(_) => assert_eq!(None, status, "{of}"),
                Verdict::Confirmed(_) => panic!("{of}"),
            }
        }
    }
}
