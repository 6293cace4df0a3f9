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

use crate::creates::{self, NUMBER, client, create, problem, reach, request, state};
use crate::listen;
use crate::log::Log;
use rusqlite::Connection;
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, fs, thread};
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use voice_calling::ledger::{Change, Reply, State, Storage, StorageFuture, StoredEntry, hold};
use voice_calling::{BatchRequest, Client, Ledger};
use voice_calling_mock::MockService;

const A_MINUTE: Duration = Duration::from_secs(60);

/// A service that answers after this time, and a folder for ledgers.
async fn service(answer_delay_ms: u64) -> (MockService, TempDir, PathBuf) {
    listen();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("calls.db");
    (creates::service(answer_delay_ms).await, folder, path)
}

/// A ledger in a folder.
fn new_ledger() -> (TempDir, Ledger) {
    listen();
    let folder = TempDir::new().unwrap();
    let ledger = Ledger::open(folder.path().join("calls.db")).unwrap();
    (folder, ledger)
}

/// Locks the ledger of a folder.
fn lock(folder: &TempDir) -> Connection {
    let other = Connection::open(folder.path().join("calls.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    other
}

fn names(folder: &TempDir) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.collect()
}

// ------------------------------------------------------------------------------- runs

#[tokio::test]
async fn a_program_that_is_killed_and_run_again_rings_no_phone_twice() {
    let (service, folder, path) = service(60_000).await;
    write_people(&folder, 10..50);
    for phones in [6, 16, 26] {
        kill_once_rung(phones, list_program(&service, &folder), &service).await;
    }
    let last = run_to_end(list_program(&service, &folder), &service).await;
    let ledger = Ledger::open(&path).unwrap();
    let printed = String::from_utf8(last.stdout).unwrap();
    let mut in_doubt = 0;
    for it in 10..50 {
        let rung = service.times_rung(&format!("9100000000{it}"));
        let key = format!("renewals-2026-11/crm-{it}");
        let state = state(&ledger, &key).await.unwrap();
        // The claims of the programs that were killed may not have ended yet.
        assert_ne!(state, State::Free, "{key}");
        if state == State::Done {
            assert_eq!(rung, 1, "{key}");
        } else {
            in_doubt += 1;
            assert!(rung <= 1, "{key}");
            assert!(
                printed.contains(&format!("{key}: outcome unknown: ")),
                "{printed}"
            );
        }
    }
    assert!((1..=12).contains(&in_doubt), "{in_doubt}");
    let stderr = String::from_utf8(last.stderr).unwrap();
    let error = format!("{in_doubt} of 40 ended in errors");
    assert!(
        !last.status.success() && stderr.contains(&error),
        "{stderr}"
    );
    drop(ledger);
    let mut names = names(&folder);
    names.sort();
    assert_eq!(names, ["calls.db", "calls.db-journal", "people.csv"]);
}

/// Writes the list of the program of the README.
fn write_people(folder: &TempDir, ids: Range<u32>) {
    let people = ids.map(|it| format!("crm-{it},9100000000{it}\n"));
    fs::write(folder.path().join("people.csv"), people.collect::<String>()).unwrap();
}

/// The program of the README, with its list and its ledger in this folder.
fn list_program(service: &MockService, folder: &TempDir) -> Command {
    let mut program = ignored_test("ledger::list::call_each_person");
    program.arg("--nocapture").current_dir(folder);
    program.env("VOICE_CALLING_BASE_URL", service.base_url());
    program.env("VOICE_CALLING_API_TOKEN", service.token());
    program.env("VOICE_CALLING_MAX_IN_FLIGHT", "4");
    program.env("VOICE_CALLING_ATTEMPT_TIMEOUT_MS", "30000");
    program
}

/// A test of this program, for a process of its own.
fn ignored_test(name: &str) -> Command {
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["--ignored", "--exact", name]);
    program
}

/// Runs a program until this many phones have rung, and kills it.
async fn kill_once_rung(phones: usize, mut program: Command, service: &MockService) {
    let mut program = program.stdout(Stdio::null()).spawn().unwrap();
    let is_running = || program.try_wait().unwrap().is_none();
    creates::answer_until_rung(phones, service, is_running).await;
    program.kill().unwrap(); // SIGKILL
    program.wait().unwrap();
}

/// Runs a program whose requests a service takes a minute to answer, in no time.
async fn run_to_end(mut program: Command, service: &MockService) -> Output {
    let ended = spawn_blocking(move || program.output().unwrap());
    while !ended.is_finished() {
        service.advance(A_MINUTE).unwrap();
        sleep(Duration::from_millis(2)).await;
    }
    ended.await.unwrap()
}

/// Each container has a folder of its own, into which the file alone is mounted, and which is gone
/// with it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn containers_that_are_killed_and_have_the_file_alone_ring_no_phone_twice() {
    let (service, folder, path) = service(60_000).await;
    drop(Ledger::open(&path).unwrap());
    for phones in [4, 12, 20, 28, 36, 44, 52, 60] {
        let container = TempDir::new().unwrap();
        write_people(&container, 10..90);
        fs::write(container.path().join("calls.db"), "").unwrap();
        let mount = "mount --bind \"$0\" calls.db && exec \"$@\"";
        let program = in_namespace(mount, &path, &list_program(&service, &container));
        kill_once_rung(phones, program, &service).await;
    }
    write_people(&folder, 10..90);
    let last = run_to_end(list_program(&service, &folder), &service).await;
    let printed = String::from_utf8(last.stdout).unwrap();
    for it in 10..90 {
        let rung = service.times_rung(&format!("9100000000{it}"));
        let called = format!("renewals-2026-11/crm-{it}: called before");
        assert!(rung <= 1, "{it}");
        assert!(rung == 1 || !printed.contains(&called), "{it}: {printed}");
    }
    let unknown = printed.matches("outcome unknown").count();
    assert!(service.phones_rung().len() + unknown >= 80, "{printed}");
}

/// Returns a program in mounts of its own, after a script whose `$0` is this path.
#[cfg(target_os = "linux")]
fn in_namespace(script: &str, path: &Path, program: &Command) -> Command {
    let mut namespace = Command::new("unshare");
    namespace.args(["--map-root-user", "--mount", "sh", "-c", script]);
    namespace.arg(path).arg(program.get_program());
    namespace.args(program.get_args());
    let variables = program.get_envs();
    namespace.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = program.get_current_dir() {
        namespace.current_dir(folder);
    }
    namespace
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
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("calls.db");
    let ledgers = [(); 2].map(|()| Ledger::open(&path).unwrap());
    creates::two_clients_with_one_key_send_it_once(ledgers).await;
}

#[tokio::test]
async fn equal_requests_of_a_batch_are_sent_with_a_warning_if_they_have_no_keys() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let (service, _folder, path) = service(0).await;
    let client = client(&service, &Ledger::open(path).unwrap());
    let requests = [Some("a"), Some("b"), None, None].map(|key| BatchRequest {
        key: key.map(str::to_owned),
        request: request(NUMBER, "crm-1"),
    });
    let mut batch = client.create_dockets_v2(requests, A_MINUTE).unwrap();
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
    let (folder, ledger) = new_ledger();
    creates::a_dropped_one_is_free_before_its_claim_and_unknown_once_it_is_sent(
        ledger,
        async || lock(&folder),
    )
    .await;
}

#[tokio::test]
async fn an_outcome_that_is_recorded_late_is_returned_in_time() {
    let (folder, ledger) = new_ledger();
    let lock = async || lock(&folder);
    creates::an_outcome_that_is_recorded_late_is_returned_in_time(ledger, lock).await;
}

#[tokio::test]
async fn a_docket_that_is_fetched_resolves_what_is_unknown() {
    let (_folder, ledger) = new_ledger();
    creates::a_docket_that_is_fetched_resolves_an_unknown_one(ledger).await;
}

#[tokio::test]
async fn nothing_is_written_or_opened_while_ledgers_are_held() {
    let (service, _folder, path) = service(0).await;
    let ledger = Ledger::open(&path).unwrap();
    let held = hold();
    let client = client(&service, &ledger);
    let create = tokio::spawn(async move { create(&client, "crm-1").await });
    let opened = thread::spawn(move || Ledger::open(path));
    sleep(Duration::from_millis(100)).await;
    assert!(service.requests().is_empty());
    assert!(!opened.is_finished());
    drop(held);
    create.await.unwrap().unwrap();
    assert!(opened.join().unwrap().is_ok());
}

#[tokio::test]
async fn an_unknown_outcome_is_resolved_or_released_and_a_done_entry_is_pruned() {
    let (_folder, ledger) = new_ledger();
    creates::an_unknown_one_is_resolved_or_released_and_a_done_one_is_pruned(ledger).await;
}

// ----------------------------------------------------------------------- storages of the user

/// Keeps entries in memory, and calls each change twice, as a database does whose transaction
/// failed. A change takes some time to be durable, or all the time that the storage is locked.
#[derive(Clone, Default)]
struct Memory(
    Arc<Mutex<HashMap<String, StoredEntry>>>,
    Arc<tokio::sync::Mutex<()>>,
);

impl Storage for Memory {
    fn update<'a>(
        &'a self,
        key: &'a str,
        mut change: Change,
    ) -> StorageFuture<'a, Result<Reply, String>> {
        Box::pin(async move {
            drop(self.1.lock().await);
            let entry = self.0.lock().unwrap().get(key).cloned();
            let _repeated = change(entry.clone());
            let (entry, reply) = change(entry);
            if key == "unwritable" {
                return Err("calls: no connection".to_owned());
            }
            if let (Some(entry), true) = (entry, reply.is_change()) {
                self.0.lock().unwrap().insert(key.to_owned(), entry);
            }
            sleep(Duration::from_millis(20)).await;
            Ok(reply)
        })
    }
}

#[tokio::test]
async fn a_storage_of_the_user_has_the_keys_in_place_of_a_file() {
    let (service, _folder, _) = service(0).await;
    let memory = Memory::default();
    let found = problem(Ledger::on(memory.clone(), "short"));
    assert_eq!(found, "secret: 5 bytes");
    let ledger = Ledger::on(memory.clone(), "a secret of 16 bytes").unwrap();
    let client = client(&service, &ledger);
    create(&client, "crm-1").await.unwrap();
    let stored = format!("{:?}", memory.0.lock().unwrap()["crm-1"]);
    assert!(
        !stored.contains(NUMBER) && !stored.contains("Asha"),
        "{stored}"
    );
    let found = problem(create(&client, "unwritable").await);
    assert_eq!(found, "ledger: calls: no connection");
    assert_eq!(service.requests().len(), 1);

    let lock = async || memory.1.clone().lock_owned().await;
    creates::two_clients_with_one_key_send_it_once([ledger.clone(), ledger.clone()]).await;
    creates::a_dropped_one_is_free_before_its_claim_and_unknown_once_it_is_sent(
        ledger.clone(),
        lock,
    )
    .await;
    creates::an_outcome_that_is_recorded_late_is_returned_in_time(ledger, lock).await;
}

// ------------------------------------------------------------------------------------- files

fn written(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

const READ_ONLY: &str = "CREATE TABLE u (x)";

#[test]
#[ignore = "another test runs it without the rights to the file"]
fn without_rights_to_the_file() {
    let path = PathBuf::from(env::var_os("LEDGER").unwrap());
    let found = problem(Ledger::open(&path));
    let expected = env::var("EXPECTED").unwrap();
    let expected = format!("ledger: {}: {expected}", path.display());
    assert!(found.starts_with(&expected), "{found}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_of_another_user_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let (_service, _folder, path) = service(0).await;
    drop(Ledger::open(&path).unwrap());
    for (mode, expected) in [
        (0o066, "unable to open database file"),
        (0o466, "attempt to write a readonly database"),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let mut program = ignored_test("ledger::without_rights_to_the_file");
        program.env("LEDGER", &path).env("EXPECTED", expected);
        // It is the file's owner, and has no more rights than anyone.
        let without = "exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
        let ended = in_namespace(without, &path, &program).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named_and_not_changed() {
    let version_1 =
        "PRAGMA application_id = 0x564F4943; PRAGMA user_version = 1; CREATE TABLE t (x)";
    for (sql, expected) in [
        ("CREATE TABLE t (x)", "another SQLite database"),
        (version_1, "a ledger of version 1, not 2"),
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

#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "another test runs it on a small disk"]
async fn on_a_small_disk() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let (service, _folder, _) = service(0).await;
    creates::hold_next(&service);
    let disk = PathBuf::from(env::var_os("SMALL_DISK").unwrap());
    let (path, rest) = (disk.join("calls.db"), disk.join("rest"));
    let ledger = Ledger::open(&path).unwrap();
    let client = client(&service, &ledger);
    let it = client.clone();
    let created = tokio::spawn(async move { create(&it, "open").await });
    reach(&ledger, "open", State::Begun).await;
    let mut file = fs::File::create(&rest).unwrap();
    while file.write(&[0; 512]).is_ok() {}
    creates::release(&service).await;

    // The caller has the outcome that cannot be recorded, and so has the log.
    let id = created.await.unwrap().unwrap().answer.docket_id;
    let lines = log.take_lines();
    assert!(lines.iter().any(|line| line.contains(&id)), "{lines:?}");
    assert!(
        create(&client, "open")
            .await
            .unwrap_err()
            .may_have_created()
    );
    let found = problem(create(&client, "k").await);
    assert!(found.ends_with("database or disk is full"), "{found}");
    assert_eq!(service.requests().len(), 1);
    fs::remove_file(&rest).unwrap();
    drop(file);
    create(&client, "k").await.unwrap();
    drop((client, ledger));

    let mut mount = Command::new("mount");
    mount.args(["-o", "remount,ro"]).arg(disk);
    assert!(mount.status().unwrap().success());
    let found = problem(Ledger::open(&path));
    assert!(
        found.ends_with("attempt to write a readonly database"),
        "{found}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_disk_that_is_full_or_read_only_nothing_is_sent() {
    let folder = TempDir::new().unwrap();
    let mut program = ignored_test("ledger::on_a_small_disk");
    program.env("SMALL_DISK", folder.path());
    let mount = "mount -t tmpfs -o size=128k tmpfs \"$0\" && exec \"$@\"";
    let ended = in_namespace(mount, folder.path(), &program).output();
    let ended = ended.unwrap();
    assert!(ended.status.success(), "{ended:?}");
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
async fn a_row_that_another_program_has_changed_is_unknown_and_harms_no_other_one() {
    for damage in [
        "state = 'free'",
        "digests = x'00'",
        "answer = CAST(x'ff' AS TEXT)",
        "begun_ms = 'never'",
        "digest = NULL",
    ] {
        let (service, _folder, path) = service(0).await;
        let ledger = Ledger::open(&path).unwrap();
        let client = client(&service, &ledger);
        create(&client, "bad").await.unwrap();
        let damage = damage.replace("digest = NULL", "digest = x''");
        written(&path, &format!("UPDATE creates SET {damage}"));
        for key in ["first", "bad", "good", "bad"] {
            let created = create(&client, key).await;
            assert_eq!(created.is_err(), key == "bad", "{damage}: {created:?}");
        }
        assert_eq!(service.requests().len(), 3);
        let entry = ledger.get("bad").await.unwrap().unwrap();
        assert_eq!(entry.state, State::Unknown, "{damage}");
        let message = entry.message.unwrap();
        assert!(message.contains("by another program"), "{message}");
        // A person can say what became of it.
        let entry = ledger.release("bad", "Asha").await.unwrap();
        assert_eq!(entry.state, State::Free);
    }
}

/// The ledger of a list, of which 200 people were called.
async fn filled(service: &MockService, path: &Path) -> Vec<String> {
    let ledger = Ledger::open(path).unwrap();
    let client = client(service, &ledger);
    let keys: Vec<_> = (0..200).map(|it| format!("crm-{it}")).collect();
    let requests: Vec<_> = keys
        .iter()
        .map(|key| (key.clone(), request(NUMBER, key)))
        .collect();
    let mut batch = client.create_dockets_v2(requests, A_MINUTE).unwrap();
    while let Some((_, result)) = batch.next().await {
        result.unwrap();
    }
    keys
}

#[tokio::test]
async fn a_damaged_file_rings_no_phone_again() {
    let (service, folder, path) = service(0).await;
    let keys = filled(&service, &path).await;
    let whole = fs::read(&path).unwrap();
    let damaged_path = folder.path().join("damaged.db");
    let mut random = 7_usize;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    };
    let (mut refused, mut opened) = (0, 0);
    for kind in 0..60 {
        let mut damaged = whole.clone();
        let page = 4096;
        match kind % 4 {
            0 => damaged[next(whole.len())] ^= 1 << next(8),
            1 => {
                let at = next(whole.len() - 600);
                damaged[at..at + 600].fill(0);
            }
            2 => {
                let (from, to) = (next(whole.len() / page), next(whole.len() / page));
                damaged.copy_within(from * page..(from + 1) * page, to * page);
            }
            _ => damaged.truncate(next(whole.len())),
        }
        if damaged == whole || damaged.is_empty() {
            continue;
        }
        fs::write(&damaged_path, &damaged).unwrap();
        let sent = service.requests().len();
        match Ledger::open(&damaged_path) {
            Err(_) => refused += 1,
            Ok(ledger) => {
                opened += 1;
                let client = client(&service, &ledger);
                for key in &keys {
                    let _ = create(&client, key).await;
                }
                drop((client, ledger));
            }
        }
        assert_eq!(service.requests().len(), sent, "kind {kind}");
    }
    assert!(refused > 10 && opened > 0, "{refused} {opened}");
}

#[tokio::test]
async fn a_file_that_lost_creates_is_refused_and_one_that_is_put_back_takes_no_more_keys() {
    let (service, folder, path) = service(0).await;
    filled(&service, &path).await;
    let copy = folder.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    written(&copy, "DELETE FROM creates WHERE key = 'crm-7'");
    let found = problem(Ledger::open(&copy));
    assert!(found.contains("creates are missing"), "{found}");

    let ledger = Ledger::open(&path).unwrap();
    fs::copy(&path, &copy).unwrap();
    create(&client(&service, &ledger), "later").await.unwrap();
    fs::copy(&copy, &path).unwrap();
    let found = problem(create(&client(&service, &ledger), "later").await);
    assert!(found.contains("removed or replaced"), "{found}");
}

/// In the mode of a write-ahead log, a program that copies the file made another one forget what
/// was in the log.
#[tokio::test]
async fn a_file_that_is_copied_while_it_is_in_use_forgets_nothing() {
    let (service, folder, path) = service(0).await;
    let ledger = Ledger::open(&path).unwrap();
    let client = client(&service, &ledger);
    for round in 0..5 {
        create(&client, &format!("crm-{round}")).await.unwrap();
        // Opening and closing it releases this process' locks.
        fs::copy(&path, folder.path().join("copy.db")).unwrap();
        let other = Ledger::open(&path).unwrap();
        for key in 0..=round {
            let entry = other.get(&format!("crm-{key}")).await.unwrap();
            assert_eq!(entry.unwrap().state, State::Done);
        }
        let copy = Ledger::open(folder.path().join("copy.db")).unwrap();
        assert!(copy.get(&format!("crm-{round}")).await.unwrap().is_some());
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
    let without = Client::builder().base_url(service.base_url());
    let without = without.api_token(service.token()).build().unwrap();
    let found = problem(create(&without, "k").await);
    assert_eq!(found, "ledger: a client without a ledger");
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_is_logged_with_its_key_and_id() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let (service, _folder, path) = service(0).await;
    creates::hold_next(&service);
    let ledger = Ledger::open(&path).unwrap();
    let client = client(&service, &ledger);
    let created = tokio::spawn(async move { create(&client, "k").await });
    reach(&ledger, "k", State::Begun).await;
    written(&path, "ALTER TABLE creates RENAME TO away");
    creates::release(&service).await;
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
    assert_eq!(names(&folder).len(), 4); // with their journals
    for name in names(&folder) {
        let file = folder.path().join(&name);
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        let bytes = fs::read(&file).unwrap();
        let mut parts = bytes.windows(NUMBER.len());
        assert!(parts.all(|part| part != NUMBER.as_bytes()), "{name}");
    }
}
