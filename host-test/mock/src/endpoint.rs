//! Routing: maps a method and a path to an endpoint and an id.

use http::Method;
use strum::{Display, EnumString, VariantNames};

/// The seven endpoints of the service (specification, section "Endpoints").
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Display, EnumString, VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Endpoint {
    /// `POST /agents/`
    CreateAgent,
    /// `POST /make_call`
    MakeCall,
    /// `GET /call_details/{task_id}`
    GetCallDetails,
    /// `POST /api/v1/dockets`
    CreateDocket,
    /// `POST /api/v2/dockets`
    CreateDocketV2,
    /// `GET /api/v1/dockets/{docket_id}`
    GetDocket,
    /// `GET /api/v1/agents`
    ListAgents,
}

impl Endpoint {
    /// Returns `true` if a request to the endpoint makes a phone ring.
    pub(super) fn starts_calls(self) -> bool {
        matches!(
            self,
            Self::MakeCall | Self::CreateDocket | Self::CreateDocketV2
        )
    }
}

/// The target of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route<'a> {
    /// An endpoint. `id` is the path's last segment as sent, if the endpoint takes one.
    Found { endpoint: Endpoint, id: &'a str },
    /// The path exists for the method in `allow`.
    WrongMethod { allow: &'static str },
    /// The path does not exist.
    Unknown,
}

impl Route<'_> {
    /// Returns the endpoint, if any.
    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Found { endpoint, .. } => Some(*endpoint),
            _ => None,
        }
    }
}

/// Returns the route of `method` and `path` (without query).
pub(super) fn route<'a>(method: &Method, path: &'a str) -> Route<'a> {
    let (allow, endpoint, id) = match path {
        "/agents/" => ("POST", Endpoint::CreateAgent, ""),
        "/make_call" => ("POST", Endpoint::MakeCall, ""),
        "/api/v1/dockets" => ("POST", Endpoint::CreateDocket, ""),
        "/api/v2/dockets" => ("POST", Endpoint::CreateDocketV2, ""),
        "/api/v1/agents" => ("GET", Endpoint::ListAgents, ""),
        _ => {
            if let Some(id) = segment_after("/call_details/", path) {
                ("GET", Endpoint::GetCallDetails, id)
            } else if let Some(id) = segment_after("/api/v1/dockets/", path) {
                ("GET", Endpoint::GetDocket, id)
            } else {
                return Route::Unknown;
            }
        }
    };
    if method.as_str() == allow {
        Route::Found { endpoint, id }
    } else {
        Route::WrongMethod { allow }
    }
}

fn segment_after<'a>(prefix: &str, path: &'a str) -> Option<&'a str> {
    let id = path.strip_prefix(prefix)?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}
