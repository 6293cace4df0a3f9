//! Settings, accounts and the log.

use super::stage::*;
use crate::machine::Machine;

fn of(account: &str) -> Option<CallOptions> {
    Some(CallOptions {
        account: Some(account.to_owned()),
        deadline_ms: None,
        max_attempts: None,
    })
}

#[test]
fn settings_are_checked_at_once() {
    let environment = [("VOICE_CALLING_BASE_URL", "https://api.example")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let Err(RequestError::PermanentConfiguration(failure)) =
        Machine::configure(environment.into(), Random::Fixed(0))
    else {
        panic!("a token is missing")
    };
    assert_eq!(failure.problem.unwrap().subject, "VOICE_CALLING_API_TOKEN");
}

#[test]
fn accounts_have_tokens_limits_and_places_of_their_own() {
    let mut stage = Stage::with(&[
        ("ACCOUNTS", "alpha,beta"),
        ("ALPHA_API_TOKEN", "token-of-alpha"),
        ("BETA_API_TOKEN", "token-of-beta"),
        ("BETA_BASE_URL", "https://beta.example"),
        ("MAX_IN_FLIGHT", "1"),
    ]);
    let led = stage.step([
        begin_with(1, create(), of("alpha")),
        begin_with(2, create(), of("beta")),
        begin_with(3, create(), of("alpha")),
    ]);
    let sends = led.sends();
    let token = |send: &Send| send.request.headers[0].1.clone();
    assert_eq!(
        (sends.len(), sends[0].operation, sends[1].operation),
        (2, 1, 2)
    );
    assert_eq!(token(sends[0]), "Bearer token-of-alpha");
    assert_eq!(token(sends[1]), "Bearer token-of-beta");
    assert!(sends[1].request.url.starts_with("https://beta.example/"));

    let limited = answered_with(sends[0].exchange, 429, &[("retry-after", "10")], "");
    stage.step([limited]).assert_nothing();
    let led = stage.step([
        answered(sends[1].exchange, 200, CREATED),
        begin_with(4, create(), of("beta")),
    ]);
    let begun: Vec<_> = led.sends().iter().map(|send| send.operation).collect();
    assert_eq!(begun, [4], "the limit of alpha is not beta's");
}

#[test]
fn the_log_is_an_effect_where_it_is_asked_for() {
    for (setting, lines) in [("attempts", 1), ("off", 0)] {
        let mut stage = Stage::with(&[("LOG", setting)]);
        let exchange = stage.begin(1, create());
        let led = stage.step([answered(exchange, 200, CREATED)]);
        let logged = led.effects.iter().filter(|it| matches!(it, Effect::Log(_)));
        assert_eq!(logged.count(), lines);
        assert!(matches!(led.effects.last(), Some(Effect::Done(_))));
    }
}
