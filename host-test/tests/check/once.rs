//! Tests of components that misbehave, and of files that are not the component: they run once, and
//! not again for the component for WASI 0.3.

use std::time::Duration;
use strum::VariantArray;
use voice_calling_check::operation::Operation;
use voice_calling_check::report::Report;
use voice_calling_check::scenario::Subject;
use voice_calling_check::script::{Script, Step};
use voice_calling_check::{Check, Options, Source, check, not_loaded};
use voice_calling_faulty_core::Fault;
use voice_calling_host::{Loading, Plugin};
use voice_calling_test_guests::{FAULTY, load, settings};

/// Returns the check that is meant for a fault, and the function that exposes it.
fn meant(fault: Fault) -> (Check, Operation) {
    use Fault::*;
    use Operation::*;
    match fault {
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

fn report(fault: Fault, options: &Options) -> Report {
    let subject = Subject {
        environment: vec![("FAULT".to_owned(), fault.name().to_owned())],
        ..load(FAULTY).into()
    };
    let report = check(&subject, options).unwrap();
    println!("{}:\n{report}", fault.name());
    report
}

#[test]
fn every_fault_is_caught_by_the_check_that_is_meant_for_it() {
    let right = Options {
        sources: vec![Source::Histories],
        histories: 1_000,
        ..Options::default()
    };
    assert!(report(Fault::None, &right).passed());
    // A component with other imports is not a fault of the core.
    let mut violated = vec![Check::Imports];
    for &fault in &Fault::VARIANTS[1..] {
        let (meant, operation) = meant(fault);
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
        let failed = report(fault, &exposing).failed_checks();
        let name = fault.name();
        assert!(failed.contains(&meant), "{name} is not caught: {failed:?}");
        violated.push(meant);
    }
    for check in Check::VARIANTS {
        assert!(violated.contains(check), "no fault violates {check:?}");
    }
}

#[test]
fn a_component_whose_calls_the_host_has_to_end_is_given_up_with_the_reason() {
    let some = Options {
        sources: vec![Source::Histories],
        operations: vec![Operation::ListAgents],
        histories: 100,
        ..Options::default()
    };
    let report = report(Fault::AllocatesWithoutEnd, &some);
    assert!(!report.passed());
    let reason = report.given_up.expect("a reason");
    assert!(
        reason.starts_with("the host had to end 3 calls"),
        "{reason}"
    );
    let returns = report.rows.iter().find(|row| row.check == Check::Returns);
    let found = &returns.unwrap().examples[0].found;
    assert!(
        found.starts_with("the guest was stopped: it asked for"),
        "{found}"
    );
}

#[test]
fn a_file_that_is_not_our_component_is_reported_by_its_difference_and_nothing_else_is_tried() {
    let other_world = r#"(component (instance $x) (export "example:log/log@1.0.0" (instance $x)))"#;
    let other_host =
        r#"(component (import "wasi:filesystem/types@0.2.0" (instance (export "x" (func)))))"#;
    for (file, says) in [
        ("no wasm", "not a component"),
        ("(module)", "a core module, not a component"),
        ("(component)", "it exports nothing"),
        (other_world, "it exports example:log/log@1.0.0"),
        (other_host, "wasi:filesystem/types@0.2.0"),
    ] {
        let wasm = wat::parse_str(file).unwrap_or_else(|_| file.into());
        let error = Plugin::compile_with(&wasm, &Loading::default());
        let report = not_loaded(&error.expect_err(says), &Options::default());
        assert_eq!(report.failed_checks(), [Check::Imports]);
        let shown = report.to_string();
        assert!(shown.contains(says), "{says}: {shown}");
        let rest = Check::VARIANTS.len() - 1;
        let summary = format!("0 checks passed, 1 failed, {rest} not tried");
        assert!(shown.ends_with(&summary) && !report.passed(), "{shown}");
    }
}

#[tokio::test]
async fn a_guest_that_loops_lets_others_on_its_thread_go_on() {
    let script = Script::new([Step::ok("[]")]);
    let mut settings = settings(&[], script.outgoing());
    let fault = ("FAULT".to_owned(), "loops-forever".to_owned());
    settings.environment.push(fault);
    settings.limits.cpu_time = Duration::from_secs(600);
    let mut instance = load(FAULTY).instantiate(settings).await.unwrap();
    let looping = instance.list_agents("org-1", None);
    let ended = tokio::time::timeout(Duration::from_millis(100), looping).await;
    assert!(ended.is_err(), "{ended:?}");
}
