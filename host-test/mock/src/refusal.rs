//! What the service answers when it refuses a request. The specification shows no
//! error bodies (section "Errors"): all of this is invented, after what FastAPI does.

use http::StatusCode;
use serde::Serialize;

use super::answer::Answer;
use super::options::{Meanings, Unauthorized, ValidationBody};

/// Why a request is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The `auth_token` header is missing or wrong.
    Unauthorized,
    /// The identifier of the named thing ("Docket", "Agent", …) is not known.
    NotFound(&'static str),
    /// The request was understood and is wrong.
    Invalid(Vec<Problem>),
}

/// One entry of FastAPI's list of validation problems.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Problem {
    #[serde(rename = "type")]
    kind: &'static str,
    loc: Vec<String>,
    msg: String,
}

impl Problem {
    pub(super) fn new(loc: Vec<String>, kind: &'static str, msg: &str) -> Self {
        let msg = msg.to_owned();
        Self { kind, loc, msg }
    }

    fn sentence(&self) -> String {
        format!("{}: {}", self.loc.join("."), self.msg)
    }
}

#[derive(Serialize)]
struct Detail<T> {
    detail: T,
}

impl Refusal {
    /// Wrong in one place.
    pub(super) fn invalid(location: &[&str], kind: &'static str, message: &str) -> Self {
        let location = location.iter().map(|&part| part.to_owned()).collect();
        Self::Invalid(vec![Problem::new(location, kind, message)])
    }

    /// The answer, as `meanings` has it.
    pub(super) fn answer(&self, meanings: &Meanings) -> Answer {
        match self {
            Self::Unauthorized => {
                let status = match meanings.unauthorized {
                    Unauthorized::Status401 => StatusCode::UNAUTHORIZED,
                    Unauthorized::Status403 => StatusCode::FORBIDDEN,
                };
                detail(status, "Invalid or missing auth_token")
            }
            Self::NotFound(what) => detail(StatusCode::NOT_FOUND, format!("{what} not found")),
            Self::Invalid(problems) => invalid(problems, meanings.validation_body),
        }
    }
}

fn invalid(problems: &[Problem], body: ValidationBody) -> Answer {
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    match body {
        ValidationBody::List => detail(status, problems),
        ValidationBody::Text => {
            let sentences: Vec<_> = problems.iter().map(Problem::sentence).collect();
            detail(status, sentences.join("; "))
        }
        ValidationBody::Empty => Answer::empty(status),
    }
}

/// FastAPI's envelope of every error.
pub(super) fn detail(status: StatusCode, detail: impl Serialize) -> Answer {
    Answer::json(status, &Detail { detail })
}
