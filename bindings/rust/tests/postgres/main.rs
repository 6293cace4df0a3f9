//! The ledger in PostgreSQL, on a server of its own: programs of several machines that are killed,
//! a server that crashes, and connections that are cut.

#[path = "../creates.rs"]
mod creates;
mod relay;

use creates::{NUMBER, client, create, problem, reach, request, service, state};
use relay::{Cut, Relay};
use std::env;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::time::sleep;
use voice_calling::ledger::State;
use voice_calling::ledger::tokio_postgres::{self, Config, NoTls};
use voice_calling::{Builder, Cancellation, DocketRequestV2, Ledger};
use voice_calling_mock::MockService;
use voice_calling_test_postgres::{Postgres, Process, USER};

const SECRET: &str = "a secret of 16 bytes";

fn config(postgres: &Postgres) -> Config {
    let mut config = Config::new();
    config.host_path(postgres.folder()).user(USER);
    config.dbname("postgres").clone()
}

async fn ledger(config: Config) -> Ledger {
    Ledger::postgres(config, NoTls, SECRET).await.unwrap()
}

/// A connection of another program to the database.
async fn other(postgres: &Postgres) -> tokio_postgres::Client {
    let (client, connection) = config(postgres).connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

// ------------------------------------------------------------------------------- machines

const PEOPLE: u64 = 60;

/// The person of an index: their number, and their key.
fn person(index: u64) -> (String, String) {
    (format!("9100000000{index:02}"), format!("crm-{index}"))
}

fn people() -> Vec<(String, DocketRequestV2)> {
    let people = (0..PEOPLE).map(person);
    let people = people.map(|(number, key)| (key.clone(), request(&number, &key)));
    people.collect()
}

#[test]
#[ignore = "another test runs it in processes that it kills"]
fn call_each_person() {
    let call = async {
        let ledger = ledger(env::var("DATABASE").unwrap().parse().unwrap()).await;
        let client = Builder::from_env().ledger(ledger).build().unwrap();
        let limit = Duration::from_secs(600);
        let mut dockets = client.create_dockets_v2(people(), limit).unwrap();
        while let Some((index, result)) = dockets.next().await {
            let error = result.err().filter(|it| !it.may_have_created());
            assert!(error.is_none(), "{index}: {error:?}");
        }
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(call);
}

/// The same program on another machine, by its name.
fn on_machine(name: &str, service: &MockService, postgres: &Postgres) -> Process {
    let mut machine = Command::new("unshare");
    let run = "hostname \"$0\" && exec \"$@\"";
    machine.args([
        "--map-root-user",
        "--uts",
        "--kill-child",
        "sh",
        "-c",
        run,
        name,
    ]);
    machine.arg(env::current_exe().unwrap());
    machine.args(["--ignored", "--exact", "call_each_person"]);
    let folder = postgres.folder().display();
    machine.env(
        "DATABASE",
        format!("host={folder} user={USER} dbname=postgres"),
    );
    machine.env("VOICE_CALLING_BASE_URL", service.base_url());
    machine.env("VOICE_CALLING_API_TOKEN", service.token());
    machine.env("VOICE_CALLING_MAX_IN_FLIGHT", "4");
    machine.env("VOICE_CALLING_ATTEMPT_TIMEOUT_MS", "30000");
    Process::start(machine.stdout(Stdio::null())).unwrap()
}

#[tokio::test]
async fn programs_of_several_machines_that_are_killed_ring_no_phone_twice() {
    let (service, postgres) = (service(60_000).await, Postgres::start().unwrap());
    // They also create the table at the same time.
    for (round, phones) in [8, 20, 32].into_iter().enumerate() {
        let names = [0, 1, 2].map(|it| format!("machine-{round}-{it}"));
        let mut machines = names.map(|name| on_machine(&name, &service, &postgres));
        let is_running = || machines.iter_mut().all(|it| it.ended().unwrap().is_none());
        creates::answer_until_rung(phones, &service, is_running).await;
        for machine in &mut machines {
            machine.kill().unwrap();
        }
    }
    let mut last = on_machine("last", &service, &postgres);
    let ended = loop {
        match last.ended().unwrap() {
            Some(ended) => break ended,
            None => {
                service.advance(Duration::from_secs(60)).unwrap();
                sleep(Duration::from_millis(2)).await;
            }
        }
    };
    assert!(ended.success());
    let ledger = ledger(config(&postgres)).await;
    let mut in_doubt = 0;
    for (number, key) in (0..PEOPLE).map(person) {
        let rung = service.times_rung(&number);
        match state(&ledger, &key).await.unwrap() {
            State::Done => assert_eq!(rung, 1, "{key}"),
            // Their claims may not have ended yet.
            State::Begun | State::Unknown => in_doubt += 1,
            State::Free => panic!("{key}"),
        }
        assert!(rung <= 1, "{key}");
    }
    // Each program that was killed had four open.
    assert!((1..=36).contains(&in_doubt), "{in_doubt}");
}

#[tokio::test]
async fn two_clients_with_one_key_send_it_once() {
    let postgres = Postgres::start().unwrap();
    let [one, other] = [0, 1].map(|_| ledger(config(&postgres)));
    creates::two_clients_with_one_key_send_it_once([one.await, other.await]).await;
}

// --------------------------------------------------------------------- connections and crashes

#[tokio::test]
async fn a_server_that_crashes_loses_no_create_and_rings_no_phone_twice() {
    let (service, mut postgres) = (service(20).await, Postgres::start().unwrap());
    let ledger = ledger(config(&postgres)).await;
    let client = client(&service, &ledger);
    let limit = Duration::from_secs(600);
    let mut dockets = client.create_dockets_v2(people(), limit).unwrap();
    for results in 1.. {
        let Some((index, result)) = dockets.next().await else {
            break;
        };
        assert!(result.is_ok(), "{index}: {result:?}");
        if results % 20 == 10 {
            postgres.crash().unwrap();
        }
    }
    for (number, key) in (0..PEOPLE).map(person) {
        assert_eq!(service.times_rung(&number), 1, "{key}");
        reach(&ledger, &key, State::Done).await;
    }
}

#[tokio::test]
async fn a_connection_that_is_cut_at_a_change_costs_no_create_and_sends_none_twice() {
    let (service, postgres) = (service(0).await, Postgres::start().unwrap());
    let relay = Relay::to(postgres.socket()).await;
    let mut config = config(&postgres);
    config = {
        let mut relayed = Config::new();
        relayed.host("127.0.0.1").port(relay.port);
        relayed
            .user(config.get_user().unwrap())
            .dbname("postgres")
            .clone()
    };
    let ledger = ledger(config).await;
    let client = client(&service, &ledger);
    let cuts = [
        Cut::Before("SELECT key"),
        Cut::Before("INSERT"),
        Cut::After("INSERT"),
        Cut::Before("UPDATE"),
        Cut::After("UPDATE"),
    ];
    for (cut, index) in cuts.into_iter().zip(1..) {
        let key = format!("crm-{index}");
        relay.cut(cut, false);
        let created = create(&client, &key).await.unwrap();
        assert!(relay.is_cut() && !created.from_ledger, "{cut:?}");
        let entry = ledger.get(&key).await.unwrap().unwrap();
        assert_eq!(entry.state, State::Done, "{cut:?}");
        assert_eq!(entry.created_id.as_deref(), Some(&*created.docket_id));
        assert_eq!(service.requests().len(), index, "{cut:?}");
    }

    // The claim is stored, and its client does not know that.
    relay.cut(Cut::After("INSERT"), true);
    let cancellation = Cancellation::new();
    let impatient = client.with_cancellation(&cancellation);
    let cancel = async {
        while !relay.is_cut() {
            sleep(Duration::from_millis(1)).await;
        }
        cancellation.cancel();
    };
    let (created, ()) = tokio::join!(create(&impatient, "crm-6"), cancel);
    let error = created.unwrap_err();
    assert!(!error.may_have_created(), "{error}");
    relay.reopen();
    let again = create(&client, "crm-6").await;
    if let Err(error) = &again {
        assert!(
            error.problem().unwrap().found.contains("in progress"),
            "{error}"
        );
        // It is free once that is known: nothing was sent.
        reach(&ledger, "crm-6", State::Free).await;
        create(&client, "crm-6").await.unwrap();
    }
    assert_eq!(service.requests().len(), 6);
}

#[tokio::test]
async fn a_table_that_is_locked_holds_up_no_outcome_and_sends_nothing() {
    let postgres = Postgres::start().unwrap();
    let ledger = ledger(config(&postgres)).await;
    let lock = async || {
        let other = other(&postgres).await;
        let lock = "BEGIN; LOCK TABLE voice_calling_creates IN ACCESS EXCLUSIVE MODE";
        other.batch_execute(lock).await.unwrap();
        other
    };
    creates::a_dropped_one_is_free_before_its_claim_and_unknown_once_it_is_sent(
        ledger.clone(),
        lock,
    )
    .await;
    creates::an_outcome_that_is_recorded_late_is_returned_in_time(ledger, lock).await;
}

#[tokio::test]
async fn without_a_database_that_can_be_written_nothing_is_sent() {
    let (service, postgres) = (service(0).await, Postgres::start().unwrap());
    let ledger = ledger(config(&postgres)).await;
    let client = client(&service, &ledger);
    let other = other(&postgres).await;
    other
        .batch_execute("DROP TABLE voice_calling_creates")
        .await
        .unwrap();
    let found = problem(create(&client, "k").await);
    let expected = r#"relation "voice_calling_creates" does not exist"#;
    assert!(found.contains(expected), "{found}");
    assert!(service.requests().is_empty());

    let mut nowhere = config(&postgres);
    nowhere.dbname("nowhere");
    for (config, secret, expected) in [
        (nowhere, SECRET, r#"database "nowhere" does not exist"#),
        (config(&postgres), "short", "5 bytes"),
    ] {
        let found = problem(Ledger::postgres(config, NoTls, secret).await);
        assert!(found.contains(expected), "{found}");
    }
}

// ------------------------------------------------------------------------------- rows

#[tokio::test]
async fn what_a_file_answers_to_a_person_a_table_does() {
    let postgres = Postgres::start().unwrap();
    let ledger = ledger(config(&postgres)).await;
    creates::an_unknown_one_is_resolved_or_released_and_a_done_one_is_pruned(ledger.clone()).await;
    creates::a_docket_that_is_fetched_resolves_an_unknown_one(ledger).await;
}

#[tokio::test]
async fn a_row_that_another_program_has_changed_is_unknown_and_sends_nothing() {
    let (service, postgres) = (service(0).await, Postgres::start().unwrap());
    let ledger = ledger(config(&postgres)).await;
    let other = other(&postgres).await;
    for (damage, index) in [
        r#"entry = replace(entry::text, '"done"', '"free"')::json"#,
        r#"entry = replace(entry::text, '"done"', '"new"')::json"#,
        "entry = '[]'",
        "digest = ''",
    ]
    .into_iter()
    .zip(1..)
    {
        let key = format!("crm-{index}");
        let client = client(&service, &ledger);
        create(&client, &key).await.unwrap();
        let damage = format!("UPDATE voice_calling_creates SET {damage} WHERE key = '{key}'");
        other.batch_execute(&damage).await.unwrap();
        let again = create(&client, &key).await;
        assert!(again.is_err(), "{damage}: {again:?}");
        assert_eq!(state(&ledger, &key).await, Some(State::Unknown));
        let unknown = ledger.unknown().await.unwrap();
        assert!(unknown.iter().any(|entry| entry.key == key), "{damage}");
        assert_eq!(service.requests().len(), index);
    }
    let stranger = Ledger::postgres(config(&postgres), NoTls, "another secret of it");
    let stranger = client(&service, &stranger.await.unwrap());
    create(&client(&service, &ledger), "mine").await.unwrap();
    let error = create(&stranger, "mine").await.unwrap_err();
    let found = &error.problem().unwrap().found;
    assert!(found.contains("has an unknown outcome"), "{found}");
    assert_eq!(service.requests().len(), 5);
    let rows = "SELECT string_agg(it::text, ' ') FROM voice_calling_creates it";
    let rows: String = other.query_one(rows, &[]).await.unwrap().get(0);
    assert!(!rows.contains(NUMBER) && !rows.contains("Asha"), "{rows}");
}
