//! Several organizations on one instance, each with a token of its own.

use crate::failure::configuration;
use crate::operation::{NO_OPTIONS, Operation, Run};
use crate::script::{Script, Step};
use crate::stage::{instance, loopback};
use voice_calling_host::types::CallOptions;
use voice_calling_mock::{MockService, Options};

/// The names, and the tokens.
const TWO: [(&str, &str); 3] = [
    ("ACCOUNTS", "alpha,south-west"),
    ("ALPHA_API_TOKEN", "token-of-alpha"),
    ("SOUTH_WEST_API_TOKEN", "token-of-south-west"),
];

fn account(name: &str) -> CallOptions {
    CallOptions {
        account: Some(name.to_owned()),
        ..NO_OPTIONS
    }
}

/// These settings besides the two accounts.
fn two_and<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    TWO.iter().chain(more).copied().collect()
}

#[tokio::test(start_paused = true)]
async fn every_request_has_the_token_and_the_service_of_the_account_that_the_call_names() {
    let settings = two_and(&[
        ("BASE_URL", "http://127.0.0.1:1"),
        ("API_TOKEN", "token-of-nobody"),
        ("ALPHA_BASE_URL", "http://127.0.0.1:2/alpha"),
    ]);
    let of_alpha = ("token-of-alpha", "http://127.0.0.1:2", "/alpha");
    let of_south_west = ("token-of-south-west", "http://127.0.0.1:1", "");
    let of_nobody = ("token-of-nobody", "http://127.0.0.1:1", "");
    for operation in Operation::ALL {
        // The first attempt fails, so that each call has two.
        let steps = [503, 200].map(|status| Step::status(status).body(operation.satisfying()));
        let script = Script::new([&steps[..]; 6].concat());
        let mut instance = script.instance(&settings).await;
        let mut expected = Vec::new();
        for (options, of) in [
            (account("alpha"), of_alpha),
            (account("south-west"), of_south_west),
            (NO_OPTIONS, of_nobody),
            (account("south-west"), of_south_west),
            (account("alpha"), of_alpha),
            (NO_OPTIONS, of_nobody),
        ] {
            operation.run_with(&mut instance, options).await.unwrap();
            expected.extend([of; 2]);
        }
        let line = operation.request_line();
        let (_, path_and_query) = line.split_once(' ').unwrap();
        for (sent, (token, origin, prefix)) in script.sent().iter().zip(&expected) {
            assert_eq!(sent.header("auth_token"), format!("Bearer {token}"));
            let url = format!("{origin}{prefix}{path_and_query}");
            assert_eq!(sent.uri.to_string(), url, "{operation:?}");
        }
        assert_eq!(script.sent().len(), expected.len(), "{operation:?}");
    }
}

/// Each of the two services knows one token only.
#[tokio::test]
async fn two_organizations_are_served_by_one_instance_over_real_connections() {
    let start = async |token: &str| {
        let options = Options {
            token: token.to_owned(),
            ..Options::default()
        };
        MockService::start(options).await.expect("the mock service")
    };
    let (alpha, south_west) = (
        start("token-of-alpha").await,
        start("token-of-south-west").await,
    );
    let (alpha_url, south_west_url) = (alpha.base_url(), south_west.base_url());
    let settings = two_and(&[
        ("ALPHA_BASE_URL", &alpha_url),
        ("SOUTH_WEST_BASE_URL", &south_west_url),
    ]);
    let mut instance = instance(&settings, loopback()).await;
    for round in 1..4 {
        for (name, mock) in [("alpha", &alpha), ("south-west", &south_west)] {
            let created = Operation::CreateDocketV2.run_with(&mut instance, account(name));
            created.await.unwrap();
            let requests = mock.requests();
            assert_eq!(requests.len(), round, "{name}");
            assert_eq!(requests[round - 1].answered, 200, "{name}");
            assert_eq!(mock.phones_rung().len(), round, "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_setting_of_an_account_counts_for_it_alone_and_the_plain_one_for_the_others() {
    let settings = two_and(&[
        ("MAX_ATTEMPTS", "3"),
        ("ALPHA_MAX_ATTEMPTS", "1"),
        ("SOUTH_WEST_CREATE_RETRY", "never"),
    ]);
    for (options, refused, server_errors) in [
        (account("alpha"), 1, 1),
        (account("south-west"), 1, 1),
        (NO_OPTIONS, 3, 3),
    ] {
        let name = options.account.clone();
        for (status, expected) in [(429, refused), (503, server_errors)] {
            let script = Script::new([Step::status(status)]);
            let mut instance = script.instance(&settings).await;
            let created = Operation::CreateDocket.run_with(&mut instance, options.clone());
            created.await.unwrap_err();
            assert_eq!(script.sent().len(), expected, "{status} {name:?}");
        }
        // A read is retried after all, except where there is but one attempt.
        let script = Script::new([Step::status(503)]);
        let mut instance = script.instance(&settings).await;
        let listed = Operation::ListAgents.run_with(&mut instance, options);
        listed.await.unwrap_err();
        let expected = if name.as_deref() == Some("alpha") {
            1
        } else {
            3
        };
        assert_eq!(script.sent().len(), expected, "{name:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_that_is_not_known_is_a_problem_of_configuration_and_nothing_is_sent() {
    for (settings, allowed) in [
        (&TWO[..], "one of alpha, south-west"),
        (&[], "none: VOICE_CALLING_ACCOUNTS lists no account"),
    ] {
        for name in ["gamma", "Alpha", "SOUTH_WEST", "alpha ", ""] {
            let script = Script::new([Step::ok("[]")]);
            let mut instance = script.instance(settings).await;
            for operation in Operation::ALL {
                let refused = operation.run_with(&mut instance, account(name)).await;
                let problem = configuration(refused);
                assert_eq!(problem.subject, "options.account", "{operation:?}");
                assert_eq!(problem.found, format!("{name:?}"));
                assert_eq!(problem.allowed, allowed);
            }
            assert!(script.sent().is_empty(), "{name:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_settings_without_a_name_are_needed_only_by_calls_that_name_no_account() {
    let script = Script::new([Step::ok("[]")]);
    let mut settings = script.settings(&TWO);
    settings
        .environment
        .retain(|(name, _)| name != "VOICE_CALLING_API_TOKEN");
    let instance = crate::stage::plugin().instantiate(settings).await;
    let mut instance = instance.expect("an instance");
    let listed = Operation::ListAgents.run_with(&mut instance, account("alpha"));
    listed.await.unwrap();
    let refused = Operation::ListAgents.run(&mut instance).await;
    let problem = configuration(refused);
    assert_eq!(problem.subject, "VOICE_CALLING_API_TOKEN");
    assert_eq!(script.sent().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_never_taken_from_another_account() {
    let settings = [
        ("ACCOUNTS", "alpha,south-west"),
        ("ALPHA_API_TOKEN", "token-of-alpha"),
    ];
    let script = Script::new([Step::ok("[]")]);
    let mut instance = script.instance(&settings).await;
    for options in [account("south-west"), account("alpha"), NO_OPTIONS] {
        let refused = Operation::ListAgents.run_with(&mut instance, options).await;
        let problem = configuration(refused);
        assert_eq!(problem.subject, "VOICE_CALLING_SOUTH_WEST_API_TOKEN");
    }
    assert!(script.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_bad_setting_of_an_account_is_named_by_its_own_variable() {
    for (name, value) in [
        ("ALPHA_MAX_ATTEMPTS", "many"),
        ("SOUTH_WEST_BASE_URL", "api.example"),
        ("ALPHA_API_TOKEN", "Bearer token-of-alpha"),
        ("ALPHA_API_TOKN", "t"),
    ] {
        let script = Script::new([Step::ok("[]")]);
        let mut instance = script.instance(&two_and(&[(name, value)])).await;
        let refused = Operation::ListAgents.run_with(&mut instance, account("alpha"));
        let problem = configuration(refused.await);
        assert_eq!(problem.subject, format!("VOICE_CALLING_{name}"));
        assert!(script.sent().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn names_of_accounts_must_be_told_apart_by_their_variables() {
    for names in [
        "",
        "Alpha",
        "al_pha",
        "1st",
        "-a",
        "alpha,",
        "alpha, beta",
        "alpha,alpha",
        "m\u{fc}nchen",
    ] {
        let script = Script::new([Step::ok("[]")]);
        let settings = [("ACCOUNTS", names), ("ALPHA_API_TOKEN", "t")];
        let mut instance = script.instance(&settings).await;
        let problem = configuration(Operation::ListAgents.run(&mut instance).await);
        assert_eq!(problem.subject, "VOICE_CALLING_ACCOUNTS", "{names:?}");
        assert!(script.sent().is_empty());
    }
}
