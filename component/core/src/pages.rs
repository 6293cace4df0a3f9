//! The tables of `docs/`, compared with what decides them.

use crate::agents::{CREATE_AGENT, LIST_AGENTS};
use crate::calls::{GET_CALL_DETAILS, MAKE_CALL, WAIT_FOR_CALL_DETAILS};
use crate::dockets::{CREATE_DOCKET, CREATE_DOCKET_V2, GET_DOCKET, WAIT_FOR_DOCKET};
use crate::next_step::next_step;
use crate::settings::PREFIX;
use crate::transport::Method;
use crate::types::FailureKind;
use crate::{Delivery, ErrorCode, Settings};

const ERRORS: &str = include_str!("../../../docs/errors.md");
const SETTINGS: &str = include_str!("../../../docs/settings.md");
const SPECIFICATION: &str = include_str!("../../../docs/specification.md");

/// Returns the cells of the rows with so many columns, of all tables of a page.
fn rows<const N: usize>(page: &str) -> impl Iterator<Item = [&str; N]> {
    page.lines().filter_map(|line| {
        let cells = line.strip_prefix("| ")?.strip_suffix('|')?.split('|');
        let cells: Vec<_> = cells.map(str::trim).collect();
        cells.try_into().ok()
    })
}

/// Returns what stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn a_setting_has_the_documented_values_and_no_others() {
    let accepts = |name: &str, value: &str| {
        let required = [("BASE_URL", "https://api.example"), ("API_TOKEN", "t")];
        let all = required.into_iter().chain([(name, value)]);
        let all = all.map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned()));
        Settings::from_environment(all).is_ok()
    };
    let default_of = |setting: &str| {
        let mut found = rows::<4>(SETTINGS).filter(|[name, ..]| name.trim_matches('`') == setting);
        found.next().expect(setting)[1]
    };
    let mut ranges = 0;
    for [name, _, allowed, _] in rows(SETTINGS) {
        let name = name.trim_matches('`');
        if let Some((least, most)) = allowed.split_once(" to ") {
            // The most of some is the value of another.
            let most = quoted(most).next().map_or(most, default_of);
            let [least, most]: [u64; 2] = [least, most].map(|it| it.parse().expect(name));
            for (value, is_allowed) in [
                (least - 1, false),
                (least, true),
                (most, true),
                (most + 1, false),
            ] {
                assert_eq!(
                    accepts(name, &value.to_string()),
                    is_allowed,
                    "{name}: {value}"
                );
            }
            ranges += 1;
        } else if ["CREATE_RETRY", "TRUST_CONNECTION_TIMEOUT", "LOG"].contains(&name) {
            assert!(quoted(allowed).all(|word| accepts(name, word)), "{name}");
            assert!(!accepts(name, "other"), "{name}");
        }
    }
    assert_eq!(ranges, 10);
}

#[test]
fn the_page_has_every_kind_of_failure_and_what_follows() {
    let documented = rows::<3>(ERRORS).map(|row| row.map(|cell| cell.trim_matches('`')));
    let names = FailureKind::ALL.map(FailureKind::name);
    let documented: Vec<_> = documented.filter(|row| names.contains(&row[0])).collect();
    assert_eq!(documented.len(), names.len());
    for ([name, _, steps], kind) in documented.into_iter().zip(FailureKind::ALL) {
        assert_eq!(name, kind.name());
        for method in [Method::Get, Method::Post] {
            let step = next_step(method, kind, None, false).name();
            assert!(steps.contains(step), "{name}: {step}");
        }
    }
    assert!(ERRORS.contains("The first seven are `permanent`, the last five `transient`."));
    let is_permanent = FailureKind::ALL.map(FailureKind::is_permanent);
    assert!(is_permanent[..7].iter().all(|it| *it));
    assert!(!is_permanent[7..].iter().any(|it| *it));
}

#[test]
fn the_page_says_of_each_error_code_whether_the_request_was_sent() {
    for code in ErrorCode::ALL {
        let of_code = |row: &[&str; 2]| quoted(row[1]).any(|it| it == code.name());
        let said = rows(ERRORS).find(of_code).map(|[said, _]| said);
        let expected = match said {
            Some("not sent") => Delivery::NotSent,
            Some("not sent, if the host is trusted") => Delivery::ConnectionTimeout,
            Some("denied by the host") => Delivery::Denied,
            Some(said) => panic!("{}: {said}", code.name()),
            None if code.name().starts_with("HTTP-request-") => Delivery::Rejected,
            None => Delivery::Unknown,
        };
        assert_eq!(code.delivery(), expected, "{}", code.name());
    }
}

#[test]
fn the_page_has_the_request_of_each_function() {
    let endpoints = [
        CREATE_AGENT,
        LIST_AGENTS,
        MAKE_CALL,
        GET_CALL_DETAILS,
        WAIT_FOR_CALL_DETAILS,
        CREATE_DOCKET,
        CREATE_DOCKET_V2,
        GET_DOCKET,
        WAIT_FOR_DOCKET,
    ];
    for endpoint in endpoints {
        let name = format!("`{}`", endpoint.function);
        let documented = rows::<3>(SPECIFICATION).find(|row| row[0] == name);
        let request = format!("`{} {}`", endpoint.method.as_str(), endpoint.path);
        let rings = endpoint.method == Method::Post && endpoint.function != CREATE_AGENT.function;
        let rings = if rings { "yes" } else { "" };
        assert_eq!(documented, Some([name.as_str(), &request, rings]));
    }
}
