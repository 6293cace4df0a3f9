use super::*;
use crate::bulk::{Item, Source};
use crate::departure::Departure;
use crate::simulation::{NO_OPTIONS, Step, Store, World, rows};
use crate::types::{CallOptions, CreatedDocketV2, DocketRequest, DocketRequestV2};
use futures_util::future::join;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::mem;

const NUMBER: &str = "919876543210";

fn request(change: &str) -> DocketRequestV2 {
    let mut request = DocketRequestV2 {
        agent_id: 7,
        to_phone_number: NUMBER.into(),
        call_context: r#"{"name":"Ann","plan":1}"#.into(),
        external_id: Some("crm-1".into()),
        extra: None,
    };
    match change {
        "agent" => request.agent_id = 8,
        "number" => request.to_phone_number = "910000000000".into(),
        "context" => request.call_context = r#"{"name":"Bob"}"#.into(),
        "no-id" => request.external_id = None,
        "extra" => request.extra = Some(r#"{"extra_config":{"retries":2}}"#.into()),
        "written-otherwise" => request.call_context = r#"{"plan":1.0,"name":"\u0041nn"}"#.into(),
        _ => {}
    }
    request
}

type Created = Result<Recorded<CreatedDocketV2>, Failure>;

fn create(world: &World, store: &Store, key: &str, change: &str) -> Created {
    let variables = [("ACCOUNTS", "alpha"), ("ALPHA_API_TOKEN", "token-of-alpha")];
    let client = world.client_with(store, &variables);
    let options = (change == "account").then(|| CallOptions {
        account: Some("alpha".into()),
        ..NO_OPTIONS
    });
    let request = request(change);
    if change == "version-1" {
        let request = DocketRequest {
            agent_id: request.agent_id,
            to_phone_number: request.to_phone_number,
            call_context: request.call_context,
            extra: None,
        };
        let created = client.create_docket(&request, options, Some(key));
        return Err(world.run(created).unwrap_err());
    }
    world.run(client.create_docket_v2(&request, options, Some(key)))
}

/// A batch of one request.
struct Single(Cell<Option<Item<'static>>>);

impl Source for Single {
    async fn next(&self) -> Option<Item<'_>> {
        self.0.take()
    }
}

/// Returns the kind of a failure, the subject of its problem with what was found, and the failure.
fn refused(created: Created) -> (&'static str, String, Failure) {
    let failure = created.unwrap_err();
    let problem = failure.problem.clone();
    let found = problem.map(|it| format!("{}: {}", it.subject, it.found));
    (failure.kind.name(), found.unwrap_or_default(), failure)
}

/// How a create ends; the state of its key then; whether the next create with the key is sent.
const STATES: &str = "
    ok                 | done    | no
    no-json            | unknown | no
    400                | free    | yes
    401                | free    | yes
    429                | free    | yes
    503                | unknown | no
    silence            | unknown | no
    not-sent           | free    | yes
    denied             | free    | yes
    refused            | free    | yes
    unknown            | unknown | no";

#[test]
fn a_create_with_a_known_key_is_sent_only_if_nothing_was_created() {
    for [end, state, sends] in rows(STATES) {
        let step = match end {
            "ok" => Step::docket("OPEN"),
            "no-json" => Step::ok("<html>"),
            end => Step::parse(end),
        };
        let world = World::with_script([step]);
        let store = Store::new(&world);
        let first = create(&world, &store, "crm-1", "");
        let state_now = format!("{:?}", store.state("crm-1").unwrap()).to_lowercase();
        assert_eq!(state_now, state, "{end}");
        let sent = world.sent().len();
        store.end_claims();
        let second = create(&world, &store, "crm-1", "");
        assert_eq!(world.sent().len() > sent, sends == "yes", "{end}");
        match state {
            "done" => {
                let (first, second) = (first.unwrap(), second.unwrap());
                assert_eq!((first.from_ledger, second.from_ledger), (false, true));
                assert_eq!(first.answer.docket_id, second.answer.docket_id);
                assert_eq!(first.answer.status, second.answer.status);
            }
            "unknown" => {
                let (case, found, failure) = refused(second);
                assert_eq!((case, &*found), ("outcome-unknown", ""), "{end}");
                assert!(failure.may_have_created && failure.attempts.is_empty());
                for part in ["crm-1", "Sun, 06 Nov 1994 08:49:37 GMT", "nothing was sent"] {
                    assert!(failure.message.contains(part), "{}", failure.message);
                }
                let (_, other, _) = refused(create(&world, &store, "crm-1", "number"));
                assert!(
                    other.contains(", which has an unknown outcome, "),
                    "{other}"
                );
            }
            _ => assert!(first.is_err()),
        }
    }
}

#[test]
fn another_request_with_a_known_key_is_an_error_that_names_the_first_difference() {
    for (change, other) in [
        ("agent", "a create with another agent_id"),
        ("number", "a create with another to_phone_number"),
        ("context", "a create with another call_context"),
        ("no-id", "a create with another external_id"),
        ("extra", "a create with another extra_config.retries"),
        ("account", "a create with another account"),
        ("version-1", "a call of dockets.create-docket-v2"),
        ("written-otherwise", ""),
    ] {
        let world = World::with_script([Step::docket("OPEN")]);
        let store = Store::new(&world);
        create(&world, &store, "k", "").unwrap();
        let again = create(&world, &store, "k", change);
        assert_eq!(world.sent().len(), 1);
        if other.is_empty() {
            assert!(again.unwrap().from_ledger);
            continue;
        }
        let (case, found, failure) = refused(again);
        assert_eq!(case, "invalid-input");
        let returned = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"OPEN"}"#;
        let expected = format!(r#"key: the key "k", which returned {returned}, of {other}"#);
        assert_eq!(found, expected);
        assert!(!failure.may_have_created);
    }
}

#[test]
fn nothing_is_sent_with_a_key_that_is_refused() {
    let world = World::with_script([Step::docket("OPEN")]);
    let (case, found, _) = refused(create(&world, &Store::new(&world), "crm-1 ", ""));
    assert_eq!(
        (case, &*found),
        ("invalid-input", "key: U+0020 at position 6")
    );
    assert!(world.sent().is_empty());
}

const KILL_MS: usize = 91;

/// Kills a program at each moment of a create, for each of its ends, and then runs it again and
/// kills it at random moments.
#[test]
fn no_history_of_kills_and_runs_calls_anyone_twice() {
    let all = ["ok", "422", "503", "429", "not-sent", "silence"];
    for seed in 0..KILL_MS * all.len() {
        let mut random = fastrand::Rng::with_seed(seed as u64);
        let mut ends = vec![all[seed / KILL_MS]];
        ends.extend((0..7).map(|_| all[random.usize(..all.len())]));
        let world = World::with_script(ends.iter().map(|end| match *end {
            "ok" => Step::docket("OPEN").after(30),
            end => Step::parse(end).after(30),
        }));
        let store = Store::new(&world);
        store.set_write_ms(20);
        for run in 0..7 {
            let client = world.client_with(&store, &[("MAX_ATTEMPTS", "1")]);
            let request = request("");
            let kill_at_ms = match run {
                0 => (seed % KILL_MS) as u64,
                _ => random.u64(..120),
            };
            world.run(async {
                let create = client.create_docket_v2(&request, None, Some("k"));
                let kill = pin!(world.sleep(kill_at_ms));
                // A killed program drops nothing.
                mem::forget(select(Box::pin(create), kill).await);
            });
            store.end_claims();
            let is_written = store.state("k").is_some();
            assert!(is_written || world.sent().is_empty(), "{seed} {run}");
        }
        // Nothing was sent after a create that may have called someone.
        let sent = &ends[..world.sent().len()];
        let harmless = |end: &&&str| matches!(**end, "422" | "429" | "not-sent");
        let before = sent.iter().take_while(harmless).count();
        assert!(sent.len() <= before + 1, "{seed}: {sent:?}");
        // A person who was certainly not called is called by the next run.
        let may_send = matches!(store.state("k"), None | Some(State::Free));
        let _last = create(&world, &store, "k", "");
        let is_sent = world.sent().len() > sent.len();
        assert_eq!(is_sent, may_send, "{seed}: {sent:?}");
    }
}

/// `operation` proves it for single creates.
#[test]
fn a_request_of_a_batch_is_retried_after_a_server_error_only_without_a_key() {
    for (key, sent) in [(None, 2), (Some("a"), 1)] {
        let world = World::with_script([Step::status(503), Step::docket("OPEN")]);
        let store = Store::new(&world);
        let client = world.client_with(&store, &[("CREATE_RETRY", "server-errors")]);
        let item = Item {
            index: 0,
            request: Cow::Owned(request("")),
            key: key.map(Cow::Borrowed),
        };
        let batch = client.begin_batch(Single(Cell::new(Some(item))), 60_000, None);
        let results = RefCell::new(vec![None]);
        world.run(batch.unwrap().run(&results));
        assert_eq!(world.sent().len(), sent);
    }
}

#[test]
fn one_of_two_creates_with_a_key_is_sent_and_the_other_is_refused() {
    let world = World::with_script([Step::docket("OPEN").after(400)]);
    let store = Store::new(&world);
    let client = world.client_with(&store, &[]);
    let request = request("");
    let create = || client.create_docket_v2(&request, None, Some("k"));
    let (first, second) = world.run(join(create(), create()));
    assert!(!first.unwrap().from_ledger);
    assert_eq!(world.sent().len(), 1);
    let (case, found, failure) = refused(second);
    assert_eq!(case, "outcome-unknown");
    let said = "is in progress since Sun, 06 Nov";
    assert!(found.contains(said), "{found}");
    assert!(failure.may_have_created);
    assert_eq!(failure.next_step, NextStep::Unknown);
}

#[test]
fn an_entry_whose_date_cannot_be_shown_is_decided_on_like_any_other() {
    let claim = Claim {
        item: None,
        key: "k".into(),
        function: "calls.make-call",
        arguments: Vec::new(),
        lasts_ms: 1,
        departure: Departure::default(),
    };
    for (begun_ms, shown) in [
        (253_402_300_799_999, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (253_402_300_800_000, "an unknown date"),
        (u64::MAX, "an unknown date"),
    ] {
        let entry = Found {
            function: claim.function.into(),
            state: State::Unknown,
            begun_ms,
            answer: None,
            differs_in: None,
        };
        let failure = decide(&claim, entry).unwrap_err();
        assert_eq!(failure.kind, FailureKind::OutcomeUnknown);
        let said = format!("was begun on {shown}, and");
        assert!(failure.message.contains(&said), "{}", failure.message);
    }
}

#[test]
fn without_a_ledger_that_can_be_written_in_time_nothing_is_sent() {
    let world = World::with_script([Step::docket("OPEN")]);
    let store = Store::new(&world);
    store.set_failure(Some("calls.db: disk full"));
    let (case, found, failure) = refused(create(&world, &store, "k", ""));
    assert_eq!(
        (case, &*found),
        ("configuration", "ledger: calls.db: disk full")
    );
    assert!(!failure.may_have_created && world.sent().is_empty());
    let client = world.client(&[]);
    let (case, found, _) =
        refused(world.run(client.create_docket_v2(&request(""), None, Some("k"))));
    assert_eq!(
        (case, &*found),
        ("configuration", "ledger: a client without a ledger")
    );

    store.set_failure(None);
    // The entry is written after half of the time.
    for (key, write_ms) in [("a", 60_000), ("b", 30_000)] {
        store.set_write_ms(write_ms);
        let began_ms = world.now_ms();
        let (case, _, failure) = refused(create(&world, &store, key, ""));
        assert_eq!((case, failure.may_have_created), ("timed-out", false));
        assert!(
            failure.message.contains("the ledger"),
            "{}",
            failure.message
        );
        assert_eq!(world.now_ms() - began_ms, 10_000);
        assert!(world.sent().is_empty());
    }
}

#[test]
fn an_attempt_has_the_time_that_the_claim_of_its_key_has_left() {
    let world = World::with_script([Step::docket("OPEN")]);
    let store = Store::new(&world);
    store.set_write_ms(5_000);
    let client = world.client_with(&store, &[("DEADLINE_MS", "12000")]);
    let created = world.run(client.create_docket_v2(&request(""), None, Some("k")));
    assert_eq!(world.sent()[0].limits.attempt_ms, 7_000);
    assert_eq!(created.unwrap().answer.attempts[0].started_ms, 5_000);
}
