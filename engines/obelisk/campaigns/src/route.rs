//! The routes of the endpoint.

use voice_calling_correlation::RunId;
use voice_calling_correlation::campaign::Order;

use crate::results::Format;

/// The action that a request asks for, and its campaign.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// The execution id, in the engine's form.
    pub campaign: String,
    pub action: Action,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    Progress,
    Results(Format),
    Give(Order),
}

/// Why a request has no route.
#[derive(Debug, PartialEq, Eq)]
pub enum Misled {
    /// 404
    NotFound,
    /// 405, with the allowed method.
    Method(&'static str),
}

/// Parses a method, in upper case, and a path with its query.
pub fn read(method: &str, path_with_query: &str) -> Result<Route, Misled> {
    let path = path_with_query.split('?').next().unwrap_or_default();
    let mut parts = path.split('/');
    let (Some(""), Some("campaigns"), Some(campaign)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(Misled::NotFound);
    };
    let (allowed, action) = match (parts.next(), parts.next()) {
        (None, _) => ("GET", Action::Progress),
        (Some("results.csv"), None) => ("GET", Action::Results(Format::Csv)),
        (Some("results.jsonl"), None) => ("GET", Action::Results(Format::JsonLines)),
        (Some(word), None) => match Order::named(word) {
            Some(order) => ("POST", Action::Give(order)),
            None => return Err(Misled::NotFound),
        },
        _ => return Err(Misled::NotFound),
    };
    // The engine accepts only ids of its own form, and a campaign has no parent.
    if campaign.contains('.') || RunId::read(campaign).is_none() {
        return Err(Misled::NotFound);
    }
    if method != allowed {
        return Err(Misled::Method(allowed));
    }
    Ok(Route {
        campaign: campaign.to_owned(),
        action,
    })
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
            ("GET", "/results.csv", Action::Results(Format::Csv)),
            ("GET", "/results.jsonl", Action::Results(Format::JsonLines)),
            ("POST", "/pause", Action::Give(Order::Pause)),
            ("POST", "/resume", Action::Give(Order::Resume)),
            ("POST", "/stop", Action::Give(Order::Stop)),
        ] {
            let route = read(method, &format!("/campaigns/{ID}{rest}")).unwrap();
            assert_eq!((route.campaign.as_str(), route.action), (ID, action));
        }
    }

    #[test]
    fn an_order_cannot_be_given_by_a_link() {
        let link = format!("/campaigns/{ID}/stop");
        assert_eq!(read("GET", &link), Err(Misled::Method("POST")));
        let progress = format!("/campaigns/{ID}");
        assert_eq!(read("POST", &progress), Err(Misled::Method("GET")));
    }

    #[test]
    fn other_paths_lead_nowhere() {
        for path in [
            "",
            "/",
            "/campaigns",
            "/campaigns/",
            "/campaigns/E_1",
            &format!("/campaigns/{ID}/"),
            &format!("/campaigns/{ID}/results.xml"),
            &format!("/campaigns/{ID}/results.csv/"),
            &format!("/campaigns/{ID}.n:segment_1"),
            &format!("/voice-calling/{ID}"),
        ] {
            assert_eq!(read("GET", path), Err(Misled::NotFound), "{path}");
        }
    }
}
