//! Settings, accounts and the log.

use super::stage::*;
use crate::machine::Machine;

#[test]
fn settings_are_checked_at_once() {
    let environment = (
        "VOICE_CALLING_BASE_URL".into(),
        "https://api.example".into(),
    );
    let Err(RequestError::PermanentConfiguration(failure)) =
        Machine::configure(vec![environment], Random::Fixed(0))
    else {
        panic!("a token is missing")
    };
    assert_eq!(failure.problem.unwrap().subject, "VOICE_CALLING_API_TOKEN");
}

#[test]
fn an_operation_goes_to_the_account_of_its_options() {
    let mut stage = Stage::with(&[("ACCOUNTS", "alpha"), ("ALPHA_API_TOKEN", "token-of-alpha")]);
    let options = CallOptions {
        account: Some("alpha".to_owned()),
        deadline_ms: None,
        max_attempts: None,
    };
    let send = stage
        .step([begin_with(1, create(), Some(options))])
        .only_send();
    assert_eq!(send.request.headers[0].1, "Bearer token-of-alpha");
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
