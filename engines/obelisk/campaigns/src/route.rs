//! The routes of the endpoint.

use voice_calling_obelisk_guest::RunId;
use voice_calling_obelisk_guest::campaign::Order;

use crate::results::Form;

/// The target of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The last campaigns.
    Campaigns,
    /// An action on a campaign, with its execution id in the engine's form.
    Campaign { id: RunId, action: Action },
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Progress,
    Results(Form),
    Give(Order),
    /// Call the contacts again that are `not_created` or `given_up`.
    Retry,
    /// Answer the question of this run.
    Answer(RunId),
}

/// Why a request has no route.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RouteError {
    /// 404
    NotFound,
    /// 405, with the allowed method.
    Method(&'static str),
}

/// Parses a method, in upper case, and a path with its query.
pub(crate) fn read(method: &str, path_with_query: &str) -> Result<Route, RouteError> {
    let path = path_with_query.split('?').next().unwrap_or_default();
    let (allowed, route) = route(path).ok_or(RouteError::NotFound)?;
    match method == allowed {
        true => Ok(route),
        false => Err(RouteError::Method(allowed)),
    }
}

/// Returns a route and its method.
fn route(path: &str) -> Option<(&'static str, Route)> {
    let path = path.strip_prefix("/campaigns")?;
    if path.is_empty() {
        return Some(("GET", Route::Campaigns));
    }
    let mut parts = path.strip_prefix('/')?.split('/');
    let id = campaign(parts.next()?)?;
    let (allowed, action) = match (parts.next(), parts.next(), parts.next()) {
        (None, ..) => ("GET", Action::Progress),
        (Some("results.jsonl"), None, _) => ("GET", Action::Results(Form::JsonLines)),
        (Some("results.csv"), None, _) => ("GET", Action::Results(Form::Csv)),
        (Some("questions"), Some(run), None) => ("POST", Action::Answer(run_below(&id, run)?)),
        (Some("retry-not-created"), None, _) => ("POST", Action::Retry),
        (Some(word), None, _) => ("POST", Action::Give(Order::named(word)?)),
        _ => return None,
    };
    Some((allowed, Route::Campaign { id, action }))
}

/// Parses the id of a campaign. The engine accepts only ids of its own form, and a campaign has no
/// parent.
fn campaign(id: &str) -> Option<RunId> {
    RunId::read(id).filter(|_| !id.contains('.'))
}

/// Parses the id of a run of a campaign.
fn run_below(campaign: &RunId, run: &str) -> Option<RunId> {
    let is_below = run.strip_prefix(campaign.as_str())?.starts_with('.');
    RunId::read(run).filter(|_| is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA";

    #[test]
    fn each_path_has_its_action() {
        for (method, rest, action) in [
            ("GET", "", Action::Progress),
            ("GET", "?x=/y", Action::Progress),
            ("GET", "/results.jsonl", Action::Results(Form::JsonLines)),
            ("GET", "/results.csv", Action::Results(Form::Csv)),
            ("POST", "/pause", Action::Give(Order::Pause)),
            ("POST", "/resume", Action::Give(Order::Resume)),
            ("POST", "/stop", Action::Give(Order::Stop)),
            ("POST", "/retry-not-created", Action::Retry),
            (
                "POST",
                &format!("/questions/{ID}.n:segment_1.n:open_7"),
                Action::Answer(RunId::read(&format!("{ID}.n:segment_1.n:open_7")).unwrap()),
            ),
        ] {
            let route = read(method, &format!("/campaigns/{ID}{rest}"));
            let id = RunId::read(ID).unwrap();
            assert_eq!(route, Ok(Route::Campaign { id, action }));
        }
        assert_eq!(read("GET", "/campaigns"), Ok(Route::Campaigns));
    }

    #[test]
    fn an_order_cannot_be_given_by_a_link() {
        let link = format!("/campaigns/{ID}/stop");
        assert_eq!(read("GET", &link), Err(RouteError::Method("POST")));
        let progress = format!("/campaigns/{ID}");
        assert_eq!(read("POST", &progress), Err(RouteError::Method("GET")));
    }

    #[test]
    fn other_paths_lead_nowhere() {
        for path in [
            "",
            "/",
            "/campaigns/",
            "/campaignsx",
            &format!("/campaigns/{ID}/questions"),
            &format!("/campaigns/{ID}/questions/{ID}"),
            &format!("/campaigns/{ID}/questions/{ID}.x"),
            &format!("/campaigns/{ID}/questions/E_01JA1Z3KQ4T2X8V5R6M7N8P9QB.n:open_1"),
            "/campaigns/E_1",
            &format!("/campaigns/{ID}/"),
            &format!("/campaigns/{ID}/results.jsonl/"),
            &format!("/campaigns/{ID}.n:segment_1"),
            &format!("/voice-calling/{ID}"),
        ] {
            assert_eq!(read("GET", path), Err(RouteError::NotFound), "{path}");
        }
    }
}
