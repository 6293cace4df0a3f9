//! The command on the mock service: who is called, and what a user learns of it. Each number that
//! has rung is counted at the mock.

use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use voice_calling_mock::{Endpoint, Fault, MockService, Options};
use voice_calling_peer::ClosedPort;

const A_MINUTE: Duration = Duration::from_secs(60);

const PROGRAM: &str = env!("CARGO_BIN_EXE_voice-calling");

/// A folder with a list, and a service.
struct World {
    folder: TempDir,
    mock: MockService,
}

/// How a command has ended: its exit code, and what it has printed.
struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

fn end_of(output: io::Result<Output>) -> Ended {
    let output = output.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

impl Ended {
    /// Checks the exit code, and that this was printed.
    #[track_caller]
    fn ends(self, code: i32, said: &[&str]) -> Self {
        let Self { stdout, stderr, .. } = &self;
        let is_said = said
            .iter()
            .all(|text| stdout.contains(text) || stderr.contains(text));
        let expected = format!("expected {code} and {said:?}");
        assert!(
            self.code == code && is_said,
            "{expected}, found {}:\n{stdout}{stderr}",
            self.code
        );
        self
    }
}

impl World {
    async fn new() -> Self {
        Self::with(Options::default()).await
    }

    async fn with(options: Options) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            mock: MockService::start(options).await.unwrap(),
        }
    }

    /// Returns a world whose service takes this long for each answer.
    async fn slow(delay_ms: u64) -> Self {
        let answer_delay = Duration::from_millis(delay_ms);
        Self::with(Options {
            answer_delay,
            ..Options::default()
        })
        .await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Writes a list of people with these ids.
    fn people(&self, ids: impl IntoIterator<Item = usize>) {
        let rows = ids
            .into_iter()
            .map(|id| format!("{id},Asha {id},{}\n", number(id)));
        self.write(
            "list.csv",
            format!("crm_id,name,phone\n{}", rows.collect::<String>()),
        );
    }

    fn command(&self, arguments: &str) -> Command {
        self.wrapped(PROGRAM, arguments)
    }

    fn wrapped(&self, program: &str, arguments: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments.split_whitespace())
            .current_dir(&self.folder);
        command.env("VOICE_CALLING_BASE_URL", self.mock.base_url());
        command.env("VOICE_CALLING_API_TOKEN", self.mock.token());
        command.env("VOICE_CALLING_BACKOFF_MS", "10");
        command.env("VOICE_CALLING_ATTEMPT_TIMEOUT_MS", "30000");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &str) -> Ended {
        end_of(self.command(arguments).output())
    }

    fn call_list(&self, more: &str) -> Ended {
        self.run(&format!("{CALL_LIST} {more}"))
    }

    fn start(&self, more: &str) -> Child {
        self.command(&format!("{CALL_LIST} {more}"))
            .spawn()
            .unwrap()
    }

    /// Sends the answers of a service that takes a minute for each until a command has ended.
    fn end(&self, mut child: Child) -> Ended {
        while child.try_wait().unwrap().is_none() {
            self.mock.advance(A_MINUTE).unwrap();
            sleep(Duration::from_millis(5));
        }
        end_of(child.wait_with_output())
    }

    /// Returns a column of the results by the ids of the people.
    fn results(&self, column: &str) -> BTreeMap<String, String> {
        let mut reader = csv::Reader::from_path(self.path("results.csv")).unwrap();
        let rows = reader.deserialize::<HashMap<String, String>>();
        let rows = rows.map(|row| row.unwrap());
        rows.map(|mut row| (row.remove("crm_id").unwrap(), row.remove(column).unwrap()))
            .collect()
    }

    /// Returns how many people have this outcome.
    fn count(&self, outcome: &str) -> usize {
        self.results("call_outcome")
            .values()
            .filter(|it| *it == outcome)
            .count()
    }

    /// Plays a fault in the next creates.
    fn fail(&self, creates: usize, fault: &Fault) {
        for _ in 0..creates {
            self.mock.on_next(Endpoint::CreateDocketV2, fault.clone());
        }
    }

    /// Returns how many different dockets the results name, all of which exist.
    fn dockets(&self) -> usize {
        let ids: HashSet<_> = self.results("call_docket_id").into_values().collect();
        assert!(ids.iter().all(|id| self.mock.entry(id).is_some()));
        ids.len()
    }

    fn creates(&self) -> usize {
        self.mock.requests_to(Endpoint::CreateDocketV2).len()
    }

    /// Returns the number of people that were called, each of them once.
    #[track_caller]
    fn rung_once(&self) -> usize {
        let rung = self.mock.phones_rung();
        let people: HashSet<_> = rung.iter().collect();
        assert_eq!(people.len(), rung.len(), "someone was called twice");
        rung.len()
    }
}

const CALL_LIST: &str = "call-list list.csv --agent-id 7 --number-column phone --key-column crm_id \
                         --campaign renewals --ledger calls.db";

fn number(id: usize) -> String {
    format!("91000{id:07}")
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Sends the first signal, and waits until the command says that it stops. Returns what else it says.
fn interrupt(child: &mut Child, first: Signal) -> BufReader<ChildStderr> {
    signal(child, first);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("finishing the open calls") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    stderr
}

#[track_caller]
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < A_MINUTE, "waited in vain");
        sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn a_list_is_read_as_spreadsheets_write_it() {
    let world = World::new().await;
    world.write(
        "list.csv",
        "\u{feff}crm_id;name;phone\r\n1;\"Asha;\r\nRao\";+91 00000-00001\r\n\r\n2;Ravi;0910000000002\r\n",
    );
    let too_long =
        "line 5: invalid: phone: found 13 digits; allowed: 12 digits with the country code";
    world
        .call_list("")
        .ends(1, &["2 rows: 1 called, 1 invalid\n", too_long]);
    assert_eq!(world.mock.phones_rung(), ["910000000001"]);
    let request = &world.mock.requests_to(Endpoint::CreateDocketV2)[0];
    let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["extra_config"]["call_context"]["name"], "Asha;\r\nRao");
    assert_eq!(body["external_id"], "renewals/1");
    let results = fs::read_to_string(world.path("results.csv")).unwrap();
    assert!(results.starts_with("\u{feff}crm_id;"));

    let utf16 = "crm_id,phone\n1,910000000001\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes);
    let utf16: Vec<_> = [0xff, 0xfe].into_iter().chain(utf16).collect();
    for (list, found) in [
        (&utf16[..], "UTF-16"),
        (b"crm_id,phone\n\xe9,1\n", "in line 2"),
    ] {
        world.write("list.csv", list);
        world.call_list("").ends(2, &[found, "CSV UTF-8"]);
        assert_eq!(world.creates(), 1);
    }
    // A quote that does not end would hide the people who follow, one that stands in a value not.
    for list in ["\"a\n2,5", "\"a\n2,5\" b"] {
        world.write("list.csv", format!("crm_id,phone\n1,{list},\n"));
        world.call_list("").ends(2, &["a quote in line 2"]);
    }
    world.write(
        "list.csv",
        "crm_id,phone,\"x\"\r3,910000000003,5\"\r4,7,\"\"\"\"",
    );
    world
        .call_list("--check")
        .ends(1, &["1 callable, 1 invalid", "line 3"]);
}

#[tokio::test]
async fn a_check_says_what_is_wrong_and_calls_no_one() {
    let world = World::new().await;
    world.people(1..=3);
    world.call_list("--check").ends(0, &[]);
    world.write("list.csv", format!(
        "crm_id,phone,zone\n1,{n1},Asia/Kolkata\n2,{n2},Asia/Kolkata\n2,{n3},Asia/Kolkata\n\
         3,9.1E+11,Asia/Kolkata\n4,{n1},Asia/Kolkata\n5,{n5},Mars\n6\u{200b},{n6},Asia/Kolkata\n7,{n7}\n",
        n1 = number(1), n2 = number(2), n3 = number(3), n5 = number(5), n6 = number(6), n7 = number(7)));
    world.write("stop.csv", format!("{}\n", number(2)));
    let ended = world.call_list(
        "--check --time-zone-column zone --do-not-call stop.csv --hours mon-sun,00:00-24:00",
    );
    let expected = "8 rows: 1 callable, 4 invalid, 2 duplicate, 1 do not call\n\
        line 5: invalid: phone: found a spreadsheet's short form, which has lost digits; allowed: 12 \
        digits with the country code, or a country code to add\n\
        line 7: invalid: time zone: found Mars; allowed: a name of the IANA time zone database, such \
        as Asia/Kolkata\n\
        line 8: invalid: crm_id: key: found U+200B at position 2; allowed: a key without format and \
        control characters, and without space at its beginning and end\n\
        … and 1 more: invalid\n\
        line 4: duplicate: its key is that of line 3\n\
        line 6: duplicate: its number is that of other rows or earlier calls: found 1; allowed: 1\n\
        line 3: do not call: its number is on the do-not-call list\n";
    assert_eq!((ended.code, &*ended.stdout), (1, expected));
    assert!(!world.path("calls.db").exists() && !world.path("results.csv").exists());
    assert_eq!(world.mock.requests().len(), 0);
}

#[tokio::test]
async fn a_run_that_is_killed_at_any_moment_calls_no_one_twice_and_forgets_no_one() {
    let world = World::slow(60_000).await;
    world.people(0..1_000);
    let mut kills = 0;
    // Moments that differ, from before the first call to the middle of the list.
    while kills < 50 && world.mock.phones_rung().len() < 900 {
        let mut child = world.start("--in-flight 4");
        // With each answer begins another call.
        for _ in 0..4 + (kills * 7) % 23 {
            sleep(Duration::from_millis(10));
            world.mock.advance(A_MINUTE).unwrap();
        }
        sleep(Duration::from_millis(kills % 10));
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills > 5, "{kills}");
    // Those that were open at a kill may have been called; they are named.
    world.end(world.start(""));
    let (open, rung) = (
        world.count("in progress") + world.count("unknown"),
        world.rung_once(),
    );
    let (called, before) = (world.count("called"), world.count("called before"));
    assert_eq!(open + called + before, 1_000);
    assert!(called + before <= rung && rung <= 1_000 && open <= 4 * kills as usize);
    world.end(world.start(""));
    assert_eq!(world.rung_once(), rung);
}

#[tokio::test]
async fn an_outage_ends_the_run_after_five_calls_and_each_question_can_be_answered() {
    let world = World::new().await;
    world.people(1..=100);
    world.fail(3, &Fault::created_then(503));
    world.fail(60, &Fault::status(503));
    let ended = world.call_list("");
    ended.ends(3, &["5 unknown", "`voice-calling unknown`"]);
    assert_eq!((world.creates(), world.count("unknown")), (5, 5));
    world.mock.clear_orders();
    world.call_list("").ends(1, &["95 called, 5 unknown"]);
    let questions = world.run("unknown --ledger calls.db").ends(1, &[]);
    assert_eq!(questions.stdout.lines().count(), 5);
    for line in questions.stdout.lines() {
        let key = line.split('\t').next().unwrap();
        let id: usize = key.strip_prefix("renewals/").unwrap().parse().unwrap();
        let answer = match world.mock.docket_with_context(&format!("Asha {id}\"")) {
            Some(docket) => format!("resolve {key} {docket}"),
            None => format!("release {key}"),
        };
        let answer = format!("{answer} --ledger calls.db --by asha");
        world.run(&answer).ends(0, &[]);
    }
    world.call_list("").ends(0, &[]);
    assert_eq!(world.rung_once(), 100);
}

#[tokio::test]
async fn a_wrong_token_or_an_hour_of_rate_limit_ends_the_run_with_what_to_do() {
    let world = World::new().await;
    world.people(1..=100);
    let mut command = world.command(CALL_LIST);
    command.env("VOICE_CALLING_API_TOKEN", "wrong");
    end_of(command.output()).ends(3, &["Correct the setting"]);
    assert_eq!(world.creates(), 5);
    world.fail(16, &Fault::rate_limited(Some("3600")));
    world.call_list("").ends(3, &["429", "again then"]);
    assert!(world.rung_once() == 0 && world.creates() <= 5 + 16);
    world.mock.clear_orders();
    world.fail(1, &Fault::rate_limited(Some("1")));
    world.call_list("").ends(0, &["100 called"]);
    assert_eq!(world.rung_once(), 100);
}

#[tokio::test]
async fn a_service_whose_name_is_gone_uses_up_no_key() {
    let world = World::new().await;
    world.people(1..=100);
    let mut command = world.command(CALL_LIST);
    command.env("VOICE_CALLING_BASE_URL", "https://service.invalid");
    // Without a network, the resolver would wait for its servers.
    command.env("RES_OPTIONS", "attempts:1 timeout:1");
    end_of(command.output()).ends(3, &["cannot be reached", "again later"]);
    let questions = world.run("unknown --ledger calls.db").ends(0, &[]);
    assert_eq!(questions.stdout, "");
    world.call_list("").ends(0, &["100 called"]);
    assert_eq!(world.rung_once(), 100);
}

#[tokio::test]
async fn a_ledger_that_does_not_exist_is_an_error() {
    let world = World::new().await;
    for command in ["unknown", "release 1 --by asha", "results"] {
        let ended = world.run(&format!("{command} --ledger call.db"));
        ended.ends(2, &["--ledger: found no file call.db"]);
    }
    assert!(!world.path("call.db").exists());
}

#[tokio::test]
async fn results_that_cannot_be_written_lose_no_id() {
    let world = World::slow(60_000).await;
    world.people(1..=20);
    world.write(".~lock.results.csv#", "");
    world.call_list("").ends(2, &["LibreOffice"]);
    assert_eq!(world.creates(), 0);
    fs::remove_file(world.path(".~lock.results.csv#")).unwrap();
    // The folder goes while the list is called.
    fs::create_dir(world.path("out")).unwrap();
    let child = world.start("--results out/results.csv");
    wait_until(|| world.creates() > 0);
    fs::remove_dir_all(world.path("out")).unwrap();
    world.end(child).ends(2, &["the ledger has all calls"]);
    world.call_list("").ends(0, &["20 called before"]);
    assert_eq!((world.dockets(), world.rung_once()), (20, 20));
}

#[tokio::test]
async fn a_docket_that_the_ledger_lacks_stays_in_the_results() {
    let world = World::slow(500).await;
    world.people(1..=1);
    let child = world.start("");
    wait_until(|| world.creates() == 1);
    let before = fs::read(world.path("calls.db")).unwrap();
    end_of(child.wait_with_output()).ends(0, &["1 called"]);
    world.write("calls.db", before);
    world.call_list("").ends(3, &["1 in progress"]);
    assert_eq!((world.dockets(), world.rung_once()), (1, 1));
}

#[tokio::test]
async fn a_full_disk_leaves_the_earlier_results_and_loses_no_id() {
    let world = World::new().await;
    let rows = (1..=5).map(|id| format!("{id},{},{}\n", number(id), "x".repeat(100_000)));
    world.write(
        "list.csv",
        format!("crm_id,phone,notes\n{}", rows.collect::<String>()),
    );
    // Files of at most 256 KiB.
    let limited = format!("trap '' XFSZ; ulimit -f 256; exec {PROGRAM} {CALL_LIST}");
    let mut command = world.wrapped("bash", "");
    command.args(["-c", &limited]);
    end_of(command.output()).ends(2, &["cannot be written"]);
    assert!(!world.path("results.csv").exists());
    world.call_list("").ends(0, &["5 called before"]);
    assert_eq!((world.dockets(), world.rung_once()), (5, 5));
}

#[tokio::test]
async fn two_at_once_on_one_ledger_call_each_person_once() {
    let world = World::slow(5).await;
    world.people(0..300);
    let other = world.start("--results other.csv");
    let ended = world.call_list("");
    let other = end_of(other.wait_with_output());
    assert_eq!(world.rung_once(), 300);
    // One that finds a call of the other in progress is to be run again.
    assert!([0, 3].contains(&ended.code) && [0, 3].contains(&other.code));
    world.call_list("").ends(0, &["300 called before"]);
    assert_eq!((world.dockets(), world.rung_once()), (300, 300));
}

#[tokio::test]
async fn a_list_may_be_sorted_grow_and_shrink_and_a_changed_row_is_not_called_again() {
    let world = World::new().await;
    world.people(1..=10);
    let ended = world.call_list("--max-creates 6");
    ended.ends(3, &["6 called", "4 callable"]);
    world.people((4..=12).rev());
    world.call_list("").ends(0, &["3 called before"]);
    // Those that are no longer in the list are kept.
    assert_eq!((world.dockets(), world.rung_once()), (12, 12));
    // A spreadsheet has made another key of 11.
    let list = fs::read_to_string(world.path("list.csv")).unwrap();
    let changed = list.replace(&number(12), &number(99));
    world.write("list.csv", changed.replace("\n11,", "\n11.0,"));
    let changed = "line 2: changed after its call";
    let ended = world.call_list("");
    ended.ends(1, &[changed, "to_phone_number", "line 3: duplicate"]);
    assert_eq!(world.rung_once(), 12);
    assert_eq!(world.results("call_number")["12"], number(12));
    // Nor is one whose number is no longer one.
    world.write(
        "list.csv",
        format!("crm_id,name,phone\n10,Asha 10,{}5\n", number(10)),
    );
    world.call_list("").ends(1, &[changed, "13 digits"]);
    assert_eq!(world.results("call_number")["10"], number(10));
}

#[tokio::test]
async fn no_number_is_called_twice_whatever_a_spreadsheet_makes_of_the_keys() {
    let world = World::slow(20).await;
    world.people(1..=20);
    let mut child = world.start("--in-flight 2");
    wait_until(|| world.mock.phones_rung().len() >= 6);
    // A run that is killed has no results.
    child.kill().unwrap();
    child.wait().unwrap();
    // One column was sorted alone.
    let rows = (1..=20).map(|id| format!("{},{}\n", 21 - id, number(id)));
    world.write(
        "list.csv",
        format!("crm_id,phone\n{}", rows.collect::<String>()),
    );
    for _ in 0..2 {
        world.call_list("");
        assert!(world.rung_once() > 6);
        assert!(world.count("duplicate") > 4 && world.count("changed after its call") > 2);
    }
}

#[tokio::test]
async fn the_first_interrupt_finishes_the_open_calls_and_the_second_names_them() {
    let world = World::slow(60_000).await;
    world.people(1..=100);
    let mut child = world.start("");
    wait_until(|| world.creates() == 5);
    // What shows its messages may end first, as `tee` does in a pipe.
    drop(interrupt(&mut child, Signal::INT));
    world.end(child).ends(3, &["5 called", "interrupted"]);
    assert_eq!(world.rung_once(), 5);
    let mut child = world.start("");
    wait_until(|| world.creates() == 10);
    let mut stderr = interrupt(&mut child, Signal::TERM);
    signal(&child, Signal::INT);
    end_of(child.wait_with_output()).ends(3, &["5 unknown"]);
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    let named = said.matches("left unknown: renewals/").count();
    assert_eq!((named, world.rung_once()), (5, 10));
    // One that has nothing left is done.
    world.people(101..=103);
    let mut child = world.start("");
    wait_until(|| world.creates() == 13);
    drop(interrupt(&mut child, Signal::HUP));
    world.end(child).ends(0, &["3 called"]);
    // `nohup` is for runs that outlive their terminal.
    world.people(104..=110);
    let nohup = format!("{PROGRAM} {CALL_LIST}");
    let child = world.wrapped("nohup", &nohup).spawn().unwrap();
    wait_until(|| world.creates() == 18);
    signal(&child, Signal::HUP);
    world.end(child).ends(0, &["7 called"]);
}

#[tokio::test]
async fn calls_begin_within_the_hours_of_their_zone_and_at_their_pace() {
    let world = World::new().await;
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let (from, to) = ((now.hour() + 23) % 24, (now.hour() + 1) % 24);
    let hours = format!("--time-zone-column zone --hours mon-sun,{from:02}:00-{to:02}:59");
    let rows = [(1, "Etc/GMT-12"), (2, "UTC"), (3, "UTC"), (4, "UTC")];
    let rows = rows.map(|(id, zone)| format!("{id},{},{zone}\n", number(id)));
    world.write("list.csv", format!("crm_id,phone,zone\n{}", rows.concat()));
    let ended = world.call_list(&format!("--check {hours}"));
    ended.ends(0, &["4 rows: 3 callable, 1 outside hours"]);
    let began = Instant::now();
    let child = world.start(&format!("{hours} --per-minute 300"));
    wait_until(|| world.mock.phones_rung().len() == 3);
    assert!(began.elapsed() >= Duration::from_millis(400));
    // The later one may have overtaken the earlier on its way.
    let mut rung = world.mock.phones_rung();
    rung.sort();
    assert_eq!(rung, [number(2), number(3), number(4)]);
    signal(&child, Signal::INT);
    end_of(child.wait_with_output()).ends(3, &["3 called", "1 callable"]);
}

#[tokio::test]
async fn a_terminal_has_a_bar_and_a_pipe_has_none() {
    let world = World::slow(200).await;
    world.people(1..=10);
    let ended = world.call_list("--max-creates 5").ends(3, &["5 called"]);
    assert_eq!(ended.stderr, "");
    let mut command = world.wrapped("script", "-qefc");
    command.args([&format!("{PROGRAM} {CALL_LIST}"), "/dev/null"]);
    command.env("VOICE_CALLING_MAX_IN_FLIGHT", "1");
    let began = Instant::now();
    end_of(command.output()).ends(0, &["/5 ", "left |"]);
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(world.rung_once(), 10);
}

#[tokio::test]
async fn an_opt_out_keeps_a_number_out_of_the_next_campaign() {
    let world = World::new().await;
    world.people(1..=3);
    world.call_list("").ends(0, &[]);
    let results = fs::read_to_string(world.path("results.csv")).unwrap();
    let said = |line: &str| match line.starts_with("2,") {
        true => line.replace(",,,", ",STOP,{},") + "\n",
        false => format!("{line}\n"),
    };
    world.write("results.csv", results.lines().map(said).collect::<String>());
    world.write("stop.csv", "phone\n910000000077");
    let opt_outs = "opt-outs --disposition STOP --do-not-call stop.csv";
    for added in ["1 numbers added", "0 numbers added"] {
        world.run(opt_outs).ends(0, &[added]);
    }
    let numbers = fs::read_to_string(world.path("stop.csv")).unwrap();
    assert_eq!(numbers, format!("phone\n910000000077\n{}\n", number(2)));
    let next = CALL_LIST.replace("renewals", "next") + " --check";
    let ended = world.run(&format!("{next} --do-not-call stop.csv"));
    ended.ends(0, &["3 rows: 2 callable, 1 do not call"]);
    let limits = "--max-per-number 2 --gap-hours 24 --earlier results.csv";
    let ended = world.run(&format!("{next} {limits}"));
    ended.ends(0, &["3 rows: 3 too soon"]);
    // A spreadsheet has saved the results: what it has lost is not skipped.
    for (damaged, name) in [("9.1E+11", "call_number"), (",11/29/26,", "call_at")] {
        let lost = match name {
            "call_number" => results.replace(
                &format!(",{},called", number(2)),
                &format!(",{damaged},called"),
            ),
            _ => results.replace(&format!(",{},", world.results(name)["2"]), damaged),
        };
        world.write("results.csv", lost.lines().map(said).collect::<String>());
        world.run(&format!("{next} {limits}")).ends(2, &[name]);
    }
}

#[tokio::test]
async fn a_do_not_call_file_is_read_whole_or_no_one_is_called() {
    let world = World::new().await;
    world.people(1..=4);
    let run = "--do-not-call stop.csv --per-minute 300";
    let first = number(1);
    for (stop, found) in [
        ("98765 43210\n", "line 1: number: found 10 digits"),
        (&*format!("id,phone\n{first}\n"), "line 2"),
        // It may be about to be replaced.
        ("", "no columns"),
    ] {
        world.write("stop.csv", stop);
        world.call_list(run).ends(2, &["stop.csv", found]);
    }
    world.call_list("--max-creates 0").ends(3, &["4 callable"]);
    let opt_outs = "opt-outs --disposition STOP --do-not-call stop.csv";
    for _ in 0..2 {
        world.run(opt_outs).ends(0, &["0 numbers added"]);
    }
    let child = world.start(run);
    wait_until(|| world.creates() > 0);
    // Those who are put on it while it is called are not called either.
    let last = [number(3), number(4)].join("\n");
    world.write("stop.csv", format!("call_number\n{last}"));
    end_of(child.wait_with_output()).ends(0, &["2 called, 2 do not call"]);
    let results = fs::read_to_string(world.path("results.csv")).unwrap();
    world.write(
        "results.csv",
        results
            .replace(&format!(",{first},"), ",9.1E+11,")
            .replace(",,,", ",STOP,{},"),
    );
    world
        .run(opt_outs)
        .ends(2, &["results.csv, line 2", "call_number"]);
}

#[tokio::test]
async fn results_come_later_and_one_call_has_one_docket() {
    let world = World::new().await;
    world.people(1..=2);
    world.call_list("").ends(0, &[]);
    let fetch = "results --ledger calls.db";
    world.run(fetch).ends(3, &["0 of 2 dockets"]);
    for id in world.results("call_docket_id").values() {
        world.mock.complete_docket(id).unwrap();
    }
    let fetch = format!("{fetch} --json");
    let ended = world
        .run(&fetch)
        .ends(0, &["\"dockets\":2", "\"completed\":2"]);
    serde_json::from_str::<serde_json::Value>(&ended.stdout).unwrap();
    // Another run of the list keeps what is known.
    world.call_list("").ends(0, &["2 called before"]);
    let statuses = world.results("call_status");
    assert!(statuses.values().all(|status| status == "COMPLETED"));

    let call = "call 91-00000-00009 --agent-id 7 --key k --ledger calls.db --context name=Asha";
    let first = world.run(call).ends(0, &[]);
    let id = first.stdout.trim();
    let mut wait = world.command(&format!("wait {id} --timeout 5"));
    let waiting = wait.spawn().unwrap();
    world.run(call).ends(0, &[id, "(called before)"]);
    assert_eq!(world.mock.times_rung("910000000009"), 1);
    world.fail(1, &Fault::created_then(503));
    let lost = call.replace("--key k", "--key lost");
    for _ in 0..2 {
        world.run(&lost).ends(1, &["error: "]);
    }
    assert_eq!(world.mock.times_rung("910000000009"), 2);
    let agents = "agents --organization-id org-1";
    world.run(agents).ends(0, &["7\trenewals\n"]);
    world.write("token", "wrong");
    let ended = world.run(&format!("{agents} --token-file token"));
    ended.ends(2, &["only its owner may read"]);
    end_of(waiting.wait_with_output()).ends(3, &[id]);
}

#[tokio::test]
async fn what_the_service_answers_is_printed_as_it_is() {
    let world = World::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let id = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";
    let body =
        format!(r#"{{"docket_id":"{id}","status":"OPEN","n":12345678901234567890123,"a":1}}"#);
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let service = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        assert!(connection.read(&mut [0; 4_096]).unwrap() > 0);
        connection.write_all(answer.as_bytes()).unwrap();
    });
    let mut command = world.command(&format!("docket {id} --json"));
    command.env("VOICE_CALLING_BASE_URL", format!("http://{address}"));
    assert_eq!(
        end_of(command.output()).ends(0, &[]).stdout.trim_end(),
        body
    );
    service.join().unwrap();
}

#[tokio::test]
async fn the_webhook_brings_dispositions_to_the_results() {
    let secret = "a1b2c3d4e5f6a1b2c3d4e5f6";
    // Kept from others until the command listens on it.
    let port = ClosedPort::bind().unwrap();
    let world = World::with(Options {
        webhook: Some(format!("{}/voice-calling/{secret}", port.base_url())),
        ..Options::default()
    })
    .await;
    world.people(1..=5);
    world.fail(5, &"completed-first".parse().unwrap());
    let address = port.address();
    let webhook = format!("{CALL_LIST} --wait --poll-seconds 1 --webhook {address}");
    world
        .run(&webhook)
        .ends(2, &["VOICE_CALLING_WEBHOOK_SECRET"]);
    let mut command = world.command(&webhook);
    command.env("VOICE_CALLING_WEBHOOK_SECRET", secret);
    end_of(command.output()).ends(0, &["5 called"]);
    let dispositions = world.results("call_disposition");
    assert!(dispositions.values().all(|it| !it.is_empty()));
}
