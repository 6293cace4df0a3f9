//! Tests of components that misbehave, and of files that are not the component: they run once, and
//! not again for the component for WASI 0.3.

use crate::compiled::{in_repository, loading};
use std::fmt::Write;
use std::time::Duration;
use strum::VariantArray;
use voice_calling_check::operation::Operation;
use voice_calling_check::scenario::Subject;
use voice_calling_check::script::{Script, Step};
use voice_calling_check::{Check, Options, Source, check, not_loaded};
use voice_calling_host::{InstanceSettings, Loading, Plugin};
use voice_calling_mutants::Mutant;

/// Returns the component of all mutants; a variable selects one.
fn mutants() -> Plugin {
    Plugin::load_with(&in_repository("target/mutants.wasm"), &loading())
        .expect("target/mutants.wasm, which `cargo xtask mutants` makes")
}

/// Returns the check that is meant for a mutant, and the function that exposes it.
fn meant(mutant: Mutant) -> (Check, Operation) {
    use Mutant::*;
    use Operation::*;
    match mutant {
        None => (Check::Returns, ListAgents),
        ReplaysUnknownOutcome | TrustsConnectionTimeout => (Check::NoReplay, CreateDocketV2),
        ReplaysServerErrors | RetriesDespiteNever => (Check::CreateRetry, CreateDocketV2),
        RepeatsRejections => (Check::FinalAnswers, CreateDocketV2),
        CallsSilenceHarmless | CallsServerErrorsHarmless => (Check::NothingCreated, CreateDocketV2),
        ForgetsCreations => (Check::CreationsAreReported, CreateDocketV2),
        ForgetsDuplicates => (Check::DuplicatesAreReported, CreateDocketV2),
        MistakesNextSteps => (Check::NextStep, CreateDocketV2),
        MistakesIds => (Check::RightDocket, CreateDocketV2),
        ConfirmsEverything => (Check::Confirmations, VerifyDocketCompleted),
        LosesOrder => (Check::BatchOrder, CreateDocketsV2),
        DropsFailedItems => (Check::BatchIsComplete, CreateDocketsV2),
        NeverStops => (Check::BatchStops, CreateDocketsV2),
        GivesUpForOthers => (Check::LimitsOnlyDelay, CreateDocketsV2),
        ExceedsMaxInFlight => (Check::MaxInFlight, CreateDocketsV2),
        LeaksToken | LeaksEscapedToken | LogsToken => (Check::TokenIsNotLeaked, ListAgents),
        CopiesToken => (Check::TokenInItsHeader, ListAgents),
        FollowsRedirects => (Check::OnlyTheService, CreateDocketV2),
        CallsInsecureHosts => (Check::InsecureHttp, ListAgents),
        CutsLongIds => (Check::Bounds, ListAgents),
        IgnoresRetryAfter => (Check::RetryAfter, CreateDocketV2),
        PollsTooSoon => (Check::RetryAfter, WaitForDocket),
        NeverRetries | HurriesRetries => (Check::Retries, ListAgents),
        TriesTooOften => (Check::MaxAttempts, ListAgents),
        BeginsLate => (Check::TimeForAnswer, ListAgents),
        OverrunsDeadline => (Check::Deadline, ListAgents),
        OverrunsAttemptTimeout => (Check::AttemptTimeout, ListAgents),
        MistakesReadiness => (Check::WaitsEnd, WaitForDocket),
        CountsUnsentPolls => (Check::PollsAreCounted, WaitForDocket),
        HidesAttempts => (Check::AttemptsAreReported, ListAgents),
        DropsBodies | HidesLocation => (Check::AnswerIsKept, CreateDocketV2),
        RoundsNumbers => (Check::AnswerIsWhole, GetDocket),
        SwallowsBrokenBodies => (Check::ErrorKind, GetDocket),
        ReadsWithoutEnd => (Check::Memory, ListAgents),
        LoopsForever | AllocatesWithoutEnd => (Check::Returns, ListAgents),
    }
}

/// Returns the checks that a mutant fails.
fn failed(plugin: &Plugin, mutant: Mutant, options: &Options) -> Vec<Check> {
    let subject = Subject {
        environment: vec![("MUTANT".to_owned(), mutant.name().to_owned())],
        ..plugin.clone().into()
    };
    let report = check(&subject, options).unwrap();
    println!("{}:\n{report}", mutant.name());
    report.failed_checks()
}

#[test]
fn every_mutant_is_caught_by_the_check_that_is_meant_for_it() {
    let plugin = mutants();
    let right = Options {
        sources: vec![Source::Histories],
        histories: 1_000,
        ..Options::default()
    };
    assert_eq!(failed(&plugin, Mutant::None, &right), []);
    let mut report = "# What catches which mutant\n\n\
        For reviewers who ask whether the checks can fail. A *mutant* is the component with one \
        fault, put there on purpose (`host-test/mutants`); each row names a check that fails for \
        it. `cargo test --test check` makes this list.\n\n\
        | mutant | what it does | caught by |\n|---|---|---|\n"
        .to_owned();
    let mut violated = vec![Check::Imports];
    for &mutant in &Mutant::VARIANTS[1..] {
        let (meant, operation) = meant(mutant);
        let source = match meant {
            Check::InsecureHttp | Check::Bounds | Check::Memory => Source::Limits,
            _ => Source::Histories,
        };
        let exposing = Options {
            sources: vec![source],
            operations: vec![operation],
            histories: 200,
            ..Options::default()
        };
        let failed = failed(&plugin, mutant, &exposing);
        let name = mutant.name();
        assert!(failed.contains(&meant), "{name} is not caught: {failed:?}");
        violated.push(meant);
        let fault = mutant.fault();
        writeln!(report, "| {name} | {fault} | {} |", meant.name()).unwrap();
    }
    // A component with other imports is not a mutant of the core.
    for check in Check::VARIANTS {
        assert!(violated.contains(check), "no mutant violates {check:?}");
    }
    let path = in_repository("docs/mutants.md");
    if std::env::var_os("HOST_TEST_WRITE_REPORTS").is_some() {
        std::fs::write(&path, &report).expect("the report");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == report,
        "docs/mutants.md is not current; with HOST_TEST_WRITE_REPORTS=1 this test writes it:\n{report}"
    );
}

#[test]
fn a_file_that_is_not_our_component_is_reported_by_its_difference() {
    let foreign =
        r#"(component (import "wasi:filesystem/types@0.2.0" (instance (export "x" (func)))))"#;
    for (wasm, says) in [
        (b"no wasm".to_vec(), "not a component"),
        (b"\0asm\x0d\0\x01\0".to_vec(), "does not export the world"),
        (foreign.as_bytes().to_vec(), "wasi:filesystem/types@0.2.0"),
    ] {
        let wasm = wat::parse_bytes(&wasm).map_or(wasm.clone(), |wasm| wasm.into_owned());
        let error = Plugin::compile_with(&wasm, &Loading::default())
            .err()
            .expect("an error");
        let report = not_loaded(&error, &Options::default());
        assert!(report.failed_checks().contains(&Check::Imports));
        assert!(report.to_string().contains(says), "{says}: {report}");
    }
}

#[tokio::test]
async fn a_guest_that_loops_lets_others_on_its_thread_go_on() {
    let environment = [
        ("VOICE_CALLING_BASE_URL", "http://127.0.0.1"),
        ("VOICE_CALLING_API_TOKEN", "limited-token-0001"),
        ("MUTANT", "loops-forever"),
    ];
    let script = Script::new([Step::ok("[]")]);
    let mut settings = InstanceSettings::new(environment, script.outgoing());
    settings.limits.cpu_time = Duration::from_secs(600);
    let mut instance = mutants().instantiate(settings).await.unwrap();
    let looping = instance.list_agents("org-1", None);
    let ended = tokio::time::timeout(Duration::from_millis(100), looping).await;
    assert!(ended.is_err(), "{ended:?}");
}
