//! Tests of components that misbehave, and of files that are not components of ours: they are run once
//! and not again on the component for WASI 0.3.

use crate::assert_current;
use crate::compiled::{in_repository, loading};
use std::fmt::Write;
use std::time::Duration;
use strum::VariantArray;
use voice_calling_check::operation::Operation;
use voice_calling_check::scenario::Subject;
use voice_calling_check::script::{Script, Step};
use voice_calling_check::{Check, Options, Source, check, not_loaded};
use voice_calling_host::{InstanceSettings, Limits, Plugin};
use voice_calling_mutants::Mutant;

/// One component, whatever the mutant: which one it is, a variable says.
fn mutants() -> Plugin {
    Plugin::load_with(&in_repository("target/mutants.wasm"), &loading())
        .expect("target/mutants.wasm, which `cargo xtask mutants` makes")
}

/// The functions in which mutants show: what they have in common is not tried with all.
const TELLING: [Operation; 7] = [
    Operation::ListAgents,
    Operation::GetCallDetails,
    Operation::WaitForCallDetails,
    Operation::CreateDocketV2,
    Operation::CreateDocketsV2,
    Operation::GetDocket,
    Operation::VerifyDocketCompleted,
];

/// The check that is meant for a mutant, and the scenarios in which it shows.
fn meant(mutant: Mutant) -> (Check, Source) {
    use Source::{Bodies, Directed};
    match mutant {
        Mutant::None => (Check::Returns, Directed),
        Mutant::ReplaysUnknownOutcome | Mutant::TrustsConnectionTimeout => {
            (Check::NoReplay, Directed)
        }
        Mutant::ReplaysServerErrors | Mutant::RetriesDespiteNever => (Check::CreateRetry, Directed),
        Mutant::LeaksToken | Mutant::LogsToken | Mutant::LeaksEscapedToken => {
            (Check::TokenIsNotLeaked, Directed)
        }
        Mutant::FollowsRedirects => (Check::OnlyTheService, Directed),
        Mutant::IgnoresRetryAfter
        | Mutant::IgnoresDate
        | Mutant::IgnoresFractions
        | Mutant::PollsTooSoon => (Check::RetryAfter, Directed),
        Mutant::DropsUnknownFields | Mutant::RoundsNumbers => (Check::AnswerIsWhole, Directed),
        Mutant::LosesOrder => (Check::BatchOrder, Directed),
        Mutant::ExceedsMaxInFlight => (Check::MaxInFlight, Directed),
        Mutant::OverrunsDeadline => (Check::Deadline, Directed),
        Mutant::OverrunsAttemptTimeout => (Check::AttemptTimeout, Directed),
        Mutant::TriesTooOften => (Check::MaxAttempts, Directed),
        Mutant::HidesAttempts => (Check::AttemptsAreReported, Directed),
        Mutant::RepeatsRejections | Mutant::RetriesWhatHostsReject | Mutant::MistakesGone => {
            (Check::FinalAnswers, Directed)
        }
        Mutant::DropsBodies | Mutant::HidesLocation => (Check::AnswerIsKept, Directed),
        Mutant::MistakesReadiness | Mutant::TrustsEmptyInsights => (Check::WaitsEnd, Directed),
        Mutant::CountsUnsentPolls => (Check::PollsAreCounted, Directed),
        Mutant::TakesAnyDocket => (Check::RightDocket, Directed),
        Mutant::ConfirmsEverything => (Check::Confirmations, Directed),
        Mutant::DropsFailedItems => (Check::BatchIsComplete, Directed),
        Mutant::CopiesToken => (Check::TokenInItsHeader, Directed),
        Mutant::CallsSilenceHarmless | Mutant::CallsServerErrorsHarmless => {
            (Check::NothingCreated, Directed)
        }
        Mutant::ForgetsCreations => (Check::CreationsAreReported, Directed),
        Mutant::ForgetsDuplicates => (Check::DuplicatesAreReported, Directed),
        Mutant::BeginsLate => (Check::TimeForAnswer, Directed),
        Mutant::GivesUpForOthers => (Check::LimitsOnlyDelay, Directed),
        Mutant::NeverRetries | Mutant::HurriesRetries => (Check::Retries, Directed),
        Mutant::CutsLongIds => (Check::Bounds, Directed),
        Mutant::SplitsLargeBatches => (Check::Bounds, Bodies),
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
        Each row is the component with one fault, put there on purpose (`host-test/mutants`), \
        and the checks that fail for it: the one that is meant for the fault, and others that \
        notice it in the same scenarios and in 100 random histories. `cargo test --package host-test --test check` makes this list.\n\n\
        | mutant | meant for it | others that notice it |\n|---|---|---|\n"
        .to_owned();
    for (name, mutant) in Mutant::ALL {
        let (meant, source) = meant(mutant);
        let options = Options {
            sources: vec![source, Source::Histories],
            operations: TELLING.to_vec(),
            histories: 100,
            simplify: false,
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
    for check in Check::VARIANTS {
        let violated = |(_, mutant)| mutant != Mutant::None && meant(mutant).0 == *check;
        // A component that imports something else is not a mutant of the core.
        assert!(
            *check == Check::Imports || Mutant::ALL.into_iter().any(violated),
            "no mutant violates {}",
            check.name()
        );
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
        (b"no wasm".to_vec(), "not a component"),
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
    let error = instance.list_agents("org-1", None).await.unwrap_err();
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
        error.contains("the guest was stopped: it asked for"),
        "{error}"
    );
    assert!(error.contains("the limit is 33554432"), "{error}");
}
