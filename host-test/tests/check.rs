//! What `host-test check` and `host-test faults` say: our component passes, each
//! mutant of it is caught by the check that is meant for it.

mod compiled;

use compiled::loading;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use voice_calling_check::scenario::Subject;
use voice_calling_check::script::{Script, Step};
use voice_calling_check::{Check, Options, Source, check, faults, not_loaded};
use voice_calling_host::guest::limits::Limits;
use voice_calling_host::{Allocation, InstanceSettings, Isolation, Loading, Plugin};
use voice_calling_mutants::Mutant;

fn in_repository(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

fn component_path() -> PathBuf {
    match std::env::var_os("HOST_TEST_COMPONENT") {
        Some(path) => path.into(),
        None => in_repository("target/voice-calling.wasm"),
    }
}

fn component() -> Plugin {
    Plugin::load_with(&component_path(), &loading()).expect("the component")
}

/// One component, whatever the mutant: which one it is, a variable says.
fn mutants() -> Plugin {
    Plugin::load_with(&in_repository("target/mutants.wasm"), &loading())
        .expect("target/mutants.wasm, which `cargo xtask mutants` makes")
}

/// Compares a report with the one in the repository, line by line in what matters, or writes it there where
/// `HOST_TEST_WRITE_REPORTS` is set.
fn assert_current(path: &str, report: &str, compared: fn(&str) -> String) {
    let path = in_repository(path);
    if std::env::var_os("HOST_TEST_WRITE_REPORTS").is_some() {
        std::fs::write(&path, report).expect("the report");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept.lines().map(compared).eq(report.lines().map(compared)),
        "{} is not current; with HOST_TEST_WRITE_REPORTS=1 this test writes it:\n{report}",
        path.display()
    );
}

#[test]
fn the_component_passes_every_check_in_ten_thousand_random_histories() {
    let histories = Options {
        sources: vec![Source::Histories],
        ..Options::default()
    };
    let report = check(&component().into(), &histories, |_, _| ()).unwrap();
    println!("{report}");
    assert!(report.passed(), "{report}");
    // A random history that judges nothing proves nothing.
    let judged = |check| {
        let row = report.rows.iter().find(|row| row.check == check);
        row.map_or(0, |row| row.runs)
    };
    for (check, least) in [
        (Check::Returns, 10_000),
        (Check::NoReplay, 3_000),
        (Check::CreateRetryNotSent, 300),
        (Check::ErrorCase, 7_000),
        (Check::FinalAnswers, 3_000),
        (Check::Retries, 1_500),
        (Check::RetryAfter, 800),
        (Check::AttemptsAreTold, 6_000),
        (Check::AnswerIsKept, 3_000),
        (Check::AnswerIsWhole, 1_500),
        (Check::WaitsEnd, 300),
        (Check::MaxInFlight, 800),
        (Check::BatchOrder, 300),
    ] {
        let runs = judged(check);
        assert!(runs >= least, "{} is judged in {runs} runs", check.name());
    }
}

#[test]
fn the_component_passes_every_check_in_every_scenario_that_somebody_thought_of() {
    let options = Options {
        histories: 0,
        ..Options::default()
    };
    let report = check(&component().into(), &options, |_, _| ()).unwrap();
    println!("{report}");
    // All sources count as played, so that a check that nothing was tried for fails.
    assert!(report.passed(), "{report}");
}

#[test]
fn the_report_of_faults_in_the_repository_is_current() {
    let table = faults::play(&component().into()).unwrap();
    assert_eq!(table.findings, [""; 0]);
    assert_current("docs/faults.md", &table.markdown(), str::to_owned);
}

/// An instance that was used before, from a pool.
fn reused() -> Subject {
    let loading = Loading {
        allocation: Allocation::Pooling { instances: 64 },
        ..loading()
    };
    let plugin = Plugin::load_with(&component_path(), &loading).expect("the component");
    Subject {
        isolation: Isolation::Reused {
            calls: NonZeroU32::MAX,
        },
        ..plugin.into()
    }
}

#[test]
fn faults_meet_an_instance_that_was_used_before_as_they_meet_a_fresh_one() {
    let table = faults::play(&reused()).unwrap();
    assert_eq!(table.findings, [""; 0]);
    assert_current("docs/faults.md", &table.markdown(), str::to_owned);
}

#[test]
fn the_component_passes_with_instances_that_were_used_before() {
    let options = Options {
        histories: 500,
        ..Options::default()
    };
    let report = check(&reused(), &options, |_, _| ()).unwrap();
    println!("{report}");
    assert!(report.passed(), "{report}");
}

/// The check that is meant for a mutant, and the scenarios in which it shows.
fn meant(mutant: Mutant) -> (Check, Source) {
    use Source::{Bodies, Directed};
    match mutant {
        Mutant::None => (Check::Returns, Directed),
        Mutant::ReplaysUnknownOutcome => (Check::NoReplay, Directed),
        Mutant::ReplaysServerErrors => (Check::CreateRetryNotSent, Directed),
        Mutant::LeaksToken | Mutant::LogsToken => (Check::TokenIsNotTold, Directed),
        Mutant::FollowsRedirects => (Check::OnlyTheService, Directed),
        Mutant::IgnoresRetryAfter => (Check::RetryAfter, Directed),
        Mutant::DropsUnknownFields | Mutant::RoundsNumbers => (Check::AnswerIsWhole, Directed),
        Mutant::LosesOrder => (Check::BatchOrder, Directed),
        Mutant::ExceedsMaxInFlight => (Check::MaxInFlight, Directed),
        Mutant::OverrunsDeadline => (Check::Deadline, Directed),
        Mutant::OverrunsAttemptTimeout => (Check::AttemptTimeout, Directed),
        Mutant::TriesTooOften => (Check::MaxAttempts, Directed),
        Mutant::HidesAttempts => (Check::AttemptsAreTold, Directed),
        Mutant::RepeatsRejections => (Check::FinalAnswers, Directed),
        Mutant::DropsBodies => (Check::AnswerIsKept, Directed),
        Mutant::MistakesReadiness => (Check::WaitsEnd, Directed),
        Mutant::DropsFailedItems => (Check::BatchIsComplete, Directed),
        Mutant::CopiesToken => (Check::TokenInItsHeader, Directed),
        Mutant::CallsSilenceHarmless => (Check::ErrorCase, Directed),
        Mutant::NeverRetries => (Check::Retries, Directed),
        Mutant::CallsInsecureHosts => (Check::InsecureHttp, Directed),
        Mutant::ReadsWithoutEnd => (Check::Memory, Bodies),
        Mutant::SwallowsBrokenBodies => (Check::ErrorCase, Bodies),
        Mutant::LoopsForever | Mutant::AllocatesWithoutEnd => (Check::Returns, Directed),
    }
}

#[test]
fn every_mutant_is_caught_by_the_check_that_is_meant_for_it() {
    let plugin = mutants();
    let mut report = "# What catches which mutant\n\n\
        Each row is the component with one fault, put there on purpose (`proof/mutants`), \
        and the checks that fail for it: the one that is meant for the fault, and others that \
        notice it in the same scenarios and in 100 random histories. `cargo test --package host-test --test check` makes this list.\n\n\
        | mutant | meant for it | others that notice it |\n|---|---|---|\n"
        .to_owned();
    for (name, mutant) in Mutant::ALL {
        let (meant, source) = meant(mutant);
        let options = Options {
            sources: vec![source, Source::Histories],
            histories: 100,
            ..Options::default()
        };
        let subject = Subject {
            environment: vec![("MUTANT".to_owned(), name.to_owned())],
            ..plugin.clone().into()
        };
        let found = check(&subject, &options, |_, _| ()).unwrap();
        let mut failed = found.failed_checks();
        if mutant == Mutant::None {
            assert_eq!(failed, [], "{found}");
            continue;
        }
        assert!(failed.contains(&meant), "{name} is not caught:\n{found}");
        failed.retain(|check| *check != meant);
        let others: Vec<_> = failed.iter().map(|check| check.name()).collect();
        writeln!(
            report,
            "| {name} | {} | {} |",
            meant.name(),
            others.join(", ")
        )
        .unwrap();
    }
    // A mutant may meet a moment at which two things happen at once: who else notices it
    // may vary.
    assert_current("docs/mutants.md", &report, |line| {
        line.split('|').take(3).collect()
    });
}

#[test]
fn what_is_no_component_of_ours_is_told_apart() {
    let foreign =
        r#"(component (import "wasi:filesystem/types@0.2.0" (instance (export "x" (func)))))"#;
    for (wasm, says) in [
        (b"no wasm".to_vec(), "no component"),
        (b"\0asm\x0d\0\x01\0".to_vec(), "does not export the world"),
        (foreign.as_bytes().to_vec(), "wasi:filesystem/types@0.2.0"),
    ] {
        let wasm = wat::parse_bytes(&wasm).map_or(wasm.clone(), |wasm| wasm.into_owned());
        let error = Plugin::compile(&wasm).err().expect("an error");
        let report = not_loaded(&error, &Options::default());
        assert!(report.failed_checks().contains(&Check::Imports));
        assert!(report.to_string().contains(says), "{says}: {report}");
    }
}

/// What a mutant's call fails with at these limits.
async fn stopped(mutant: &str, limits: Limits) -> String {
    let plugin = mutants();
    let script = Script::new([Step::ok("[]")]);
    let environment = [
        ("VOICE_CALLING_BASE_URL", "http://127.0.0.1"),
        ("VOICE_CALLING_API_TOKEN", "limited-token-0001"),
        ("MUTANT", mutant),
    ];
    let mut settings = InstanceSettings::new(environment, script.outgoing());
    settings.limits = limits;
    let mut instance = plugin.instantiate(settings).await.unwrap();
    let error = instance.list_agents("org-1").await.unwrap_err();
    assert!(script.sent().is_empty());
    format!("{error:#}")
}

#[tokio::test]
async fn a_guest_that_loops_for_ever_is_stopped_and_the_error_says_so() {
    let limits = Limits {
        computing: Duration::from_millis(200),
        ..Limits::default()
    };
    let error = stopped("loops-forever", limits).await;
    assert!(
        error.contains("the guest was stopped: it computed for longer than 200 ms in one call"),
        "{error}"
    );
}

#[tokio::test]
async fn a_guest_that_loops_lets_others_on_its_thread_go_on() {
    let limits = Limits {
        computing: Duration::from_secs(600),
        ..Limits::default()
    };
    let looping = stopped("loops-forever", limits);
    let ended = tokio::time::timeout(Duration::from_millis(100), looping).await;
    assert!(ended.is_err(), "{ended:?}");
}

#[tokio::test]
async fn a_guest_that_allocates_without_end_is_stopped_and_the_error_says_so() {
    let limits = Limits {
        memory_bytes: 32 << 20,
        ..Limits::default()
    };
    let error = stopped("allocates-without-end", limits).await;
    assert!(
        error.contains("the guest was stopped: it asks for"),
        "{error}"
    );
    assert!(error.contains("and its limit is 33554432"), "{error}");
}

// The time to compute is real, so this waits for real.
#[tokio::test]
async fn a_guest_that_waits_is_not_taken_for_one_that_computes() {
    let plugin = component();
    let script = Script::new([Step::ok("[]").after_ms(1_500)]);
    let environment = [
        ("VOICE_CALLING_BASE_URL", "http://127.0.0.1"),
        ("VOICE_CALLING_API_TOKEN", "limited-token-0001"),
    ];
    let mut settings = InstanceSettings::new(environment, script.outgoing());
    settings.limits.computing = Duration::from_millis(500);
    let mut instance = plugin.instantiate(settings).await.unwrap();
    instance.list_agents("org-1").await.unwrap().unwrap();
}
