//! The ledger as a program meets it: killed, run again, beside others, and with files that cannot
//! be used.

mod list {
    include!("../examples/list.rs");

    #[test]
    #[ignore = "another test runs it in processes that it kills"]
    fn call_each_person() {
        main().unwrap();
    }
}

#[path = "table/log.rs"]
mod log;

use rusqlite::Connection;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use voice_calling::ledger::{
    Claim, Claimed, Outcome, Sighting, State, Storage, StorageFuture, StoredEntry,
};
use voice_calling::{
    AgentConfig, Builder, Client, CreatedDocketV2, DocketRequestV2, Error, Ledger, Recorded,
    RequestError,
};
use voice_calling_mock::{Endpoint, Fault, MockService, Options};

const NUMBER: &str = "919876543210";
const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

fn request() -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: NUMBER.to_owned(),
        call_context: r#"{"name":"Asha"}"#.to_owned(),
        external_id: Some("crm-1".to_owned()),
        extra: None,
    }
}

/// HMAC-SHA256 of the arguments of `request`, with a key of 32 zero bytes, as Python has it.
const DIGESTS: &str = r#"{"agent_id":"0a62f845e5423508715b6ef5f957dab8",
    "to_phone_number":"68d71a491625f39effed37303cd9f00b",
    "external_id":"d3b0009f3d360e96775ac19e8513bdbf",
    "call_context":"ff443950e95db6304b07e0384bfa186d"}"#;

/// A service that answers after this time, and a folder for ledgers.
async fn service(answer_delay_ms: u64) -> (MockService, TempDir, PathBuf) {
    let options = Options {
        answer_delay: Duration::from_millis(answer_delay_ms),
        ..Options::default()
    };
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("calls.db");
    (MockService::start(options).await.unwrap(), folder, path)
}

fn builder(service: &MockService) -> Builder {
    let builder = Client::builder().base_url(service.base_url());
    builder.api_token(service.token()).max_attempts(1)
}

fn client(service: &MockService, ledger: &Ledger) -> Client {
    builder(service).ledger(ledger.clone()).build().unwrap()
}

async fn create(client: &Client, key: &str) -> Result<Recorded<CreatedDocketV2>, Error> {
    client.once(key).create_docket_v2(&request()).await
}

async fn state(ledger: &Ledger, key: &str) -> Option<State> {
    Some(ledger.get(key).await.unwrap()?.state)
}

async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        sleep(Duration::from_millis(1)).await;
    }
}

/// Waits for a state.
async fn reach(ledger: &Ledger, key: &str, expected: State) {
    while state(ledger, key).await != Some(expected) {
        sleep(Duration::from_millis(1)).await;
    }
}

/// Returns the subject of an error, and what was found.
fn problem<T: std::fmt::Debug>(refused: Result<T, Error>) -> String {
    let error = refused.unwrap_err();
    let problem = error.problem().expect("a problem");
    format!("{}: {}", problem.subject, problem.found)
}

fn names(folder: &TempDir) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.collect()
}

// ------------------------------------------------------------------------------- runs

#[tokio::test]
async fn a_program_that_is_killed_and_run_again_rings_no_phone_twice() {
    let (service, folder, path) = service(50).await;
    let program = include_str!("../examples/list.rs");
    let (_, program) = program.split_once("\n\n").unwrap();
    assert!(include_str!("../README.md").contains(program));
    let list = folder.path().join("people.csv");
    let people = (10..50).map(|it| format!("crm-{it},9100000000{it}\n"));
    fs::write(list, people.collect::<String>()).unwrap();
    for phones in [6, 16, 26] {
        let mut program = list_program(&service, &folder);
        let mut program = program.stdout(Stdio::null()).spawn().unwrap();
        while service.phones_rung().len() < phones {
            assert_eq!(program.try_wait().unwrap(), None);
            sleep(Duration::from_millis(2)).await;
        }
        program.kill().unwrap(); // SIGKILL
        program.wait().unwrap();
    }
    let other = format!("calls.db-old-{}.owner", "0".repeat(32));
    fs::write(folder.path().join(&other), "").unwrap();
    let last = list_program(&service, &folder).output().unwrap();
    let ledger = Ledger::open(&path).unwrap();
    let unknown = ledger.unknown().await.unwrap();
    assert!((1..=12).contains(&unknown.len()), "{unknown:?}");
    let printed = String::from_utf8(last.stdout).unwrap();
    for entry in &unknown {
        let line = format!("{}: outcome unknown: ", entry.key);
        assert!(printed.contains(&line), "{printed}");
    }
    let error = format!("{} of 40 ended in errors", unknown.len());
    let stderr = String::from_utf8(last.stderr).unwrap();
    assert!(
        !last.status.success() && stderr.contains(&error),
        "{stderr}"
    );
    for it in 10..50 {
        let rung = service.times_rung(&format!("9100000000{it}"));
        match state(&ledger, &format!("renewals-2026-11/crm-{it}"))
            .await
            .unwrap()
        {
            State::Done => assert_eq!(rung, 1, "{it}"),
            State::Unknown => assert!(rung <= 1, "{it}"),
            other => panic!("{it}: {other:?}"),
        }
    }
    drop(ledger);
    // No file of a process that is gone, and those of others.
    let mut names = names(&folder);
    names.sort();
    assert_eq!(names, ["calls.db", &other, "people.csv"]);
}

/// The program of the README, with its list and its ledger in this folder.
fn list_program(service: &MockService, folder: &TempDir) -> Command {
    let mut program = Command::new(env::current_exe().unwrap());
    program.args([
        "--ignored",
        "--exact",
        "--nocapture",
        "list::call_each_person",
    ]);
    program.current_dir(folder);
    program.env("VOICE_CALLING_BASE_URL", service.base_url());
    program.env("VOICE_CALLING_API_TOKEN", service.token());
    program.env("VOICE_CALLING_MAX_IN_FLIGHT", "4");
    program
}

#[tokio::test]
async fn a_list_with_a_line_that_cannot_be_read_calls_no_one() {
    let (service, folder, _) = service(0).await;
    for line in [&b"crm-2 910000000002"[..], b"crm-2,91000000000\xb2"] {
        let list = [b"crm-1,910000000001\n", line, b"\ncrm-3,910000000003\n"].concat();
        fs::write(folder.path().join("people.csv"), list).unwrap();
        let ended = list_program(&service, &folder).output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(
            !ended.status.success() && stderr.contains("people.csv, line 2: "),
            "{stderr}"
        );
    }
    assert_eq!(service.requests().len(), 0);
}

#[tokio::test]
async fn a_proxy_of_the_environment_gets_the_requests_to_other_machines_alone() {
    for (base_url, is_proxied) in [(None, false), (Some("http://api.example"), true)] {
        let (service, folder, _) = service(0).await;
        let (proxy, _folder, _) = self::service(0).await;
        fs::write(folder.path().join("people.csv"), "crm-1,910000000001\n").unwrap();
        let mut program = list_program(&service, &folder);
        program.env("HTTP_PROXY", proxy.base_url());
        for unset in ["http_proxy", "NO_PROXY", "no_proxy"] {
            program.env_remove(unset);
        }
        program.env("VOICE_CALLING_ALLOW_INSECURE_HTTP", "true");
        program.envs(base_url.map(|it| ("VOICE_CALLING_BASE_URL", it)));
        program.output().unwrap();
        let requests = [service, proxy].map(|it| it.requests().len());
        assert_eq!(requests, if is_proxied { [0, 1] } else { [1, 0] });
    }
}

#[tokio::test]
async fn two_ledgers_on_one_path_send_a_create_once() {
    let (service, _folder, path) = service(1000).await;
    let ledgers = [(); 2].map(|()| Ledger::open(&path).unwrap());
    let [first, second] = [0, 1].map(|it| client(&service, &ledgers[it]));
    let first = tokio::spawn(async move { create(&first, "k").await });
    reach(&ledgers[1], "k", State::Begun).await;
    let error = create(&second, "k").await.unwrap_err();
    assert!(matches!(
        error.kind(),
        RequestError::PermanentOutcomeUnknown(_)
    ));
    let found = problem::<()>(Err(error));
    assert!(
        found.starts_with("once: ") && found.contains("in progress"),
        "{found}"
    );
    assert!(!first.await.unwrap().unwrap().from_ledger);
    assert!(create(&second, "k").await.unwrap().from_ledger);
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test]
async fn equal_requests_of_a_batch_are_sent_with_a_warning_if_they_have_no_keys() {
    let log = log::Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let (service, _folder, path) = service(0).await;
    let client = client(&service, &Ledger::open(path).unwrap());
    let keys = [Some("a"), Some("b"), None, None].map(|key| key.map(str::to_owned));
    let requests = keys.map(|key| (key, request()));
    let mut batch = client
        .create_dockets_v2_once(requests, Duration::from_secs(60))
        .unwrap();
    while let Some((_, result)) = batch.next().await {
        result.unwrap();
    }
    let lines = log.take_lines();
    let [warning] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert!(warning.contains("is equal to one before") && warning.contains("index=3"));
    assert_eq!(service.requests().len(), 4);
}

// ------------------------------------------------------------------- outcomes that are not known

#[tokio::test]
async fn a_create_that_is_dropped_is_free_before_it_is_claimed_and_unknown_once_it_is_sent() {
    let (service, _folder, path) = service(0).await;
    let ledger = Ledger::open(&path).unwrap();
    let client = client(&service, &ledger);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap(); // the ledger has to wait
    tokio::select! {
        biased;
        _ = create(&client, "k") => panic!("it is not claimed yet"),
        () = ready(()) => drop(other),
    }
    reach(&ledger, "k", State::Free).await;
    assert!(service.requests().is_empty());
    service.on_next(Endpoint::CreateDocketV2, Fault::hang());
    tokio::select! {
        _ = create(&client, "k") => panic!("it has no answer"),
        () = until(|| !service.requests().is_empty()) => {}
    }
    assert_eq!(state(&ledger, "k").await, Some(State::Unknown));
    assert!(create(&client, "k").await.unwrap_err().may_have_created());
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test]
async fn a_docket_that_is_fetched_resolves_what_is_unknown() {
    let (service, _folder, path) = service(0).await;
    let ledger = Ledger::open(path).unwrap();
    let client = client(&service, &ledger);
    service.on_next(Endpoint::CreateDocketV2, Fault::created_then(503));
    create(&client, "crm-1").await.unwrap_err();
    assert_eq!(ledger.unknown().await.unwrap()[0].key, "crm-1");
    let docket_id = service.docket_with_context("Asha").unwrap();
    client.get_docket(&docket_id).await.unwrap();
    let entry = ledger.get("crm-1").await.unwrap().unwrap();
    assert_eq!(entry.resolved_by.as_deref(), Some("docket"));
    let created = create(&client, "crm-1").await.unwrap();
    assert_eq!(
        (created.answer.docket_id, created.from_ledger),
        (docket_id, true)
    );
}

#[tokio::test]
async fn an_answer_counts_more_than_a_docket_that_was_seen_and_not_for_another_claim() {
    for (meanwhile, state) in [
        (
            r#"UPDATE creates SET state = 'done', answer = '{"docket_id":"x"}', resolved_by = 'docket'"#,
            State::Done,
        ),
        // A process that took the key since, and is gone.
        ("UPDATE creates SET claim = 'other/1'", State::Unknown),
    ] {
        let (service, _folder, path) = service(500).await;
        let ledger = Ledger::open(&path).unwrap();
        let client = client(&service, &ledger);
        let created = tokio::spawn(async move { create(&client, "k").await });
        reach(&ledger, "k", State::Begun).await;
        written(&path, meanwhile);
        let created = created.await.unwrap().unwrap();
        let entry = ledger.get("k").await.unwrap().unwrap();
        assert_eq!((entry.state, entry.resolved_by), (state, None));
        let is_done = state == State::Done;
        assert_eq!(
            entry.created_id,
            is_done.then_some(created.answer.docket_id)
        );
    }
}

#[tokio::test]
async fn an_unknown_outcome_is_resolved_or_released_and_a_done_entry_is_pruned() {
    let (service, _folder, path) = service(0).await;
    let ledger = Ledger::open(path).unwrap();
    let client = client(&service, &ledger);
    for key in ["a", "b"] {
        service.on_next(Endpoint::CreateDocketV2, Fault::status(503));
        create(&client, key).await.unwrap_err();
    }
    let found = problem(ledger.resolve("none", DOCKET_ID, "Asha").await);
    assert_eq!(found, "key: no entry");
    let found = problem(ledger.resolve("a", 7, "Asha").await);
    assert_eq!(found, "created-id: \"7\"");
    let found = problem(ledger.release("a", "").await);
    assert_eq!(found, "by: an empty text");
    let entry = ledger.resolve("a", DOCKET_ID, "Asha").await.unwrap();
    assert_eq!(entry.function, "create_docket_v2");
    assert_eq!(entry.resolved_by.as_deref(), Some("Asha"));
    let created = create(&client, "a").await.unwrap();
    assert_eq!(
        (&*created.answer.docket_id, created.from_ledger),
        (DOCKET_ID, true)
    );
    let entry = ledger.release("b", "Asha").await.unwrap();
    assert_eq!((entry.state, entry.created_id), (State::Free, None));
    assert!(!create(&client, "b").await.unwrap().from_ledger);
    let found = problem(ledger.release("b", "Asha").await);
    assert_eq!(found, "key: an entry that is done");
    let config = AgentConfig::new("new");
    let agent = client.once("c").create_agent(&config).await.unwrap();
    let entry = ledger.get("c").await.unwrap().unwrap();
    let agent_id = agent.answer.agent_id.map(|it| it.to_string());
    assert_eq!(entry.created_id, agent_id);
    assert_eq!(ledger.prune(UNIX_EPOCH).await.unwrap(), 0);
    let later = SystemTime::now() + Duration::from_secs(1);
    assert_eq!(ledger.prune(later).await.unwrap(), 3);
    assert_eq!(state(&ledger, "a").await, None);
}

// ----------------------------------------------------------------------- storages of the user

/// Keeps what it is asked for, as a line each.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Storage for Lines {
    fn claim<'a>(&'a self, create: &'a Claim) -> StorageFuture<'a, Claimed<String>> {
        let arguments: Vec<_> = create.arguments.iter().map(|(name, _)| &**name).collect();
        let (key, function) = (&create.key, create.function);
        let line = format!("claim {key} {function} {}", arguments.join(" "));
        let mut lines = self.0.lock().unwrap();
        let is_known = lines
            .iter()
            .any(|it| it.starts_with(&format!("claim {key} ")));
        lines.push(line);
        let entry = StoredEntry {
            function: function.to_owned(),
            state: State::Done,
            begun_ms: 1,
            answer: Some(format!(r#"{{"docket_id":"{DOCKET_ID}"}}"#)),
            differs_in: None,
        };
        Box::pin(ready(match is_known {
            true => Claimed::Found(entry),
            false => Claimed::Taken(format!("{}", lines.len())),
        }))
    }

    fn record<'a>(
        &'a self,
        key: &'a str,
        claim_name: &'a str,
        outcome: &'a Outcome,
    ) -> StorageFuture<'a, Result<(), String>> {
        let line = format!("record {key} {claim_name} {:?}", outcome.state);
        Box::pin(async move {
            self.0.lock().unwrap().push(line.clone());
            sleep(Duration::from_millis(20)).await;
            self.0.lock().unwrap().push(line + " (durable)");
            Ok(())
        })
    }

    fn observe<'a>(&'a self, sighting: &'a Sighting) -> StorageFuture<'a, Result<(), String>> {
        let line = format!("observe {}", sighting.keys.join(" "));
        self.0.lock().unwrap().push(line);
        Box::pin(ready(Ok(())))
    }
}

#[tokio::test]
async fn a_storage_of_the_user_has_the_keys_in_place_of_a_file() {
    let (service, _folder, _) = service(0).await;
    let lines = Lines::default();
    let client = builder(&service).ledger_storage(lines.clone());
    let client = client.build().unwrap();
    let created = create(&client, "crm-1").await.unwrap();
    assert!(!created.from_ledger);
    client.get_docket(&created.answer.docket_id).await.unwrap();
    let again = create(&client, "crm-1").await.unwrap();
    assert_eq!(
        (&*again.answer.docket_id, again.from_ledger),
        (DOCKET_ID, true)
    );
    service.on_next(Endpoint::CreateDocketV2, Fault::hang());
    let hanging = create(&client, "crm-2");
    assert!(timeout(Duration::from_millis(500), hanging).await.is_err());
    let has = |line: &str| lines.0.lock().unwrap().iter().any(|it| it == line);
    until(|| has("record crm-2 6 Unknown (durable)")).await; // in the background
    let expected = [
        "claim crm-1 dockets.create-docket-v2 agent_id to_phone_number call_context external_id",
        "record crm-1 1 Done",
        "record crm-1 1 Done (durable)",
        "observe crm-1",
        "claim crm-1 dockets.create-docket-v2 agent_id to_phone_number call_context external_id",
        "claim crm-2 dockets.create-docket-v2 agent_id to_phone_number call_context external_id",
        "record crm-2 6 Unknown",
        "record crm-2 6 Unknown (durable)",
    ];
    assert_eq!(*lines.0.lock().unwrap(), expected);
    assert_eq!(service.times_rung(NUMBER), 1);
    tokio::select! {
        _ = create(&client, "crm-3") => panic!("its outcome is not recorded yet"),
        () = until(|| has("record crm-3 9 Done")) => {}
    }
    until(|| has("record crm-3 9 Done (durable)")).await;
}

// ------------------------------------------------------------------------------------- files

fn written(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

const READ_ONLY: &str = "PRAGMA journal_mode = WAL";

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named_and_not_changed() {
    let version_2 =
        "PRAGMA application_id = 0x564F4943; PRAGMA user_version = 2; CREATE TABLE t (x)";
    for (sql, expected) in [
        ("CREATE TABLE t (x)", "another SQLite database"),
        (version_2, "a ledger of version 2, not 1"),
        ("damaged", "file is not a database"),
        (READ_ONLY, "a read-only file"),
    ] {
        let (_service, folder, path) = service(0).await;
        match sql {
            "damaged" => fs::write(&path, "x".repeat(5000)).unwrap(),
            sql => written(&path, sql),
        }
        if sql == READ_ONLY {
            let mut permissions = fs::metadata(&path).unwrap().permissions();
            permissions.set_readonly(true);
            fs::set_permissions(&path, permissions).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let found = problem(Ledger::open(&path));
        assert_eq!(found, format!("ledger: {}: {expected}", path.display()));
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(names(&folder), ["calls.db"]);
        let found = problem(Ledger::open(folder.path()));
        assert_eq!(
            found,
            format!("ledger: {}: not a file", folder.path().display())
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_ledger_whose_file_is_removed_or_replaced_takes_no_more_keys() {
    for is_replaced in [false, true] {
        let (service, folder, path) = service(0).await;
        let ledger = Ledger::open(&path).unwrap();
        fs::rename(&path, folder.path().join("old.db")).unwrap();
        if is_replaced {
            drop(Ledger::open(&path).unwrap());
        }
        let found = problem(create(&client(&service, &ledger), "k").await);
        assert!(
            found.ends_with("calls.db: it was removed or replaced while it was open"),
            "{found}"
        );
        assert!(service.requests().is_empty());
    }
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_harms_no_other_one() {
    for damage in ["digests = x'00'", "answer = CAST(x'ff' AS TEXT)"] {
        let (service, _folder, path) = service(0).await;
        let ledger = Ledger::open(&path).unwrap();
        let client = client(&service, &ledger);
        create(&client, "bad").await.unwrap();
        written(&path, &format!("UPDATE creates SET {damage}"));
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let keys = ["first", "bad", "good", "bad"];
        let creates = keys.map(|key| {
            let client = client.clone();
            tokio::spawn(async move { create(&client, key).await })
        });
        sleep(Duration::from_millis(100)).await; // all but the first one share a transaction
        drop(other);
        for (key, created) in keys.into_iter().zip(creates) {
            let created = created.await.unwrap();
            assert_eq!(created.is_err(), key == "bad", "{damage}: {created:?}");
        }
        written(&path, "UPDATE creates SET state = 'unknown'");
        let unknown = ledger.unknown().await.unwrap();
        assert_eq!(unknown.len(), 3);
        let bad = unknown.iter().find(|entry| entry.key == "bad").unwrap();
        let message = bad.message.as_deref().unwrap();
        assert!(message.contains("cannot be read: "), "{message}");
    }
}

#[tokio::test]
async fn without_a_ledger_that_can_be_written_nothing_is_sent() {
    let (service, _folder, path) = service(0).await;
    let ledger = Ledger::open(&path).unwrap();
    written(&path, "DROP TABLE creates");
    let found = problem(create(&client(&service, &ledger), "k").await);
    let expected = format!("ledger: {}: no such table: creates", path.display());
    assert!(found.starts_with(&expected), "{found}");
    let without = builder(&service).build().unwrap();
    let found = problem(create(&without, "k").await);
    assert_eq!(found, "once: a client without a ledger");
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_is_logged_with_its_key_and_id() {
    let log = log::Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let (service, _folder, path) = service(500).await;
    let ledger = Ledger::open(&path).unwrap();
    let client = client(&service, &ledger);
    let created = tokio::spawn(async move { create(&client, "k").await });
    reach(&ledger, "k", State::Begun).await;
    written(&path, "ALTER TABLE creates RENAME TO away");
    let id = created.await.unwrap().unwrap().answer.docket_id;
    let lines = log.take_lines();
    let expected = format!(
        "the create with the key \"k\" ended (it has created {id}) could not be recorded in \
         the ledger {}: no such table: creates",
        path.display()
    );
    assert!(lines.iter().any(|it| it.contains(&expected)), "{lines:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_private_and_contain_no_phone_number() {
    use std::os::unix::fs::PermissionsExt;
    let (service, folder, path) = service(0).await;
    fs::write(&path, "").unwrap();
    let new = folder.path().join("new.db");
    let ledgers = [&path, &new].map(|path| Ledger::open(path).unwrap());
    for ledger in &ledgers {
        create(&client(&service, ledger), "k").await.unwrap();
    }
    assert_eq!(names(&folder).len(), 10); // with -wal, -shm, and .owner with its journal
    for name in names(&folder) {
        let file = folder.path().join(&name);
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        let bytes = fs::read(&file).unwrap();
        let mut parts = bytes.windows(NUMBER.len());
        assert!(parts.all(|part| part != NUMBER.as_bytes()), "{name}");
    }
}

/// The schema of the client in JavaScript, and digests that are made by its algorithm in Python.
#[tokio::test]
async fn a_file_of_another_language_is_the_same() {
    let (service, folder, path) = service(0).await;
    let script = include_str!("../../javascript/src/ledger_file.js");
    let schema = script.split("SCHEMA = `").nth(1).unwrap();
    let (schema, _) = schema.split_once('`').unwrap();
    let schema = schema.replace("${IS_OPEN}", "state IN ('begun', 'unknown')");
    let schema = schema.replace("${APPLICATION_ID}", "0x564F4943");
    let schema = schema.replace("${VERSION}", "1");
    written(&path, &schema);
    let done = format!(
        r#"UPDATE digest_key SET value = zeroblob(32);
        INSERT INTO creates (key, function, digests, state, claim, begun_ms, answer) VALUES ('k',
        'dockets.create-docket-v2', '{DIGESTS}', 'done', 'a/1', 1, '{{"docket_id":"{DOCKET_ID}"}}')"#
    );
    written(&path, &done);
    let ledger = Ledger::open(&path).unwrap();
    let created = create(&client(&service, &ledger), "k").await.unwrap();
    assert_eq!(
        (&*created.answer.docket_id, created.from_ledger),
        (DOCKET_ID, true)
    );
    let own = folder.path().join("own.db");
    drop(Ledger::open(&own).unwrap());
    let [theirs, own] = [path, own].map(|path| -> String {
        let query = "SELECT group_concat(sql, ';') FROM sqlite_master";
        Connection::open(path)
            .unwrap()
            .query_row(query, (), |row| row.get(0))
            .unwrap()
    });
    assert_eq!(theirs, own);
}
