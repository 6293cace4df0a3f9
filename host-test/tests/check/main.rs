//! The results of `host-test check`: the component passes, and each fault is caught by the check that
//! is meant for it.

mod once;

use std::time::Duration;
use voice_calling_check::report::Report;
use voice_calling_check::scenario::Subject;
use voice_calling_check::script::{Script, Step};
use voice_calling_check::{Check, Options, Source, check};
use voice_calling_host::{Allocation, Loading, Plugin};
use voice_calling_test_guests::{component, load, loading, settings};

/// Returns the report on a component, which passes.
fn passed(subject: &Subject, options: &Options) -> Report {
    let report = check(subject, options).unwrap();
    println!("{report}");
    assert!(report.passed(), "{report}");
    report
}

#[test]
fn the_component_passes_every_check_in_ten_thousand_random_histories() {
    let histories = Options {
        sources: vec![Source::Histories],
        ..Options::default()
    };
    let report = passed(&load(component()).into(), &histories);
    // Random histories must exercise each check.
    let judged = |check| {
        let row = report.rows.iter().find(|row| row.check == check);
        row.map_or(0, |row| row.runs)
    };
    for (check, least) in [
        (Check::Returns, 10_000),
        (Check::NoReplay, 3_000),
        (Check::CreateRetry, 500),
        (Check::NothingCreated, 300),
        (Check::CreationsAreReported, 3_000),
        (Check::DuplicatesAreReported, 500),
        (Check::TimeForAnswer, 6_000),
        (Check::ErrorKind, 7_000),
        (Check::NextStep, 5_000),
        (Check::FinalAnswers, 3_000),
        (Check::Retries, 1_500),
        (Check::RetryAfter, 800),
        (Check::AttemptsAreReported, 6_000),
        (Check::AnswerIsKept, 3_000),
        (Check::AnswerIsWhole, 1_500),
        (Check::RightDocket, 500),
        (Check::WaitsEnd, 300),
        (Check::PollsAreCounted, 300),
        (Check::Confirmations, 100),
        (Check::LimitsOnlyDelay, 100),
        (Check::BatchStops, 500),
        (Check::MaxInFlight, 800),
        (Check::BatchOrder, 300),
    ] {
        let runs = judged(check);
        assert!(runs >= least, "{} is judged in {runs} runs", check.name());
    }
}

#[test]
fn the_component_passes_every_check_at_every_fault_and_every_limit() {
    let options = Options {
        sources: vec![Source::Faults, Source::Limits],
        ..Options::default()
    };
    passed(&load(component()).into(), &options);
}

#[test]
fn the_component_passes_with_instances_that_were_used_before() {
    let loading = Loading {
        allocation: Allocation::Pooling { instances: 64 },
        ..loading()
    };
    let plugin = Plugin::load_with(component().as_ref(), &loading).expect("the component");
    let subject = Subject {
        is_reused: true,
        ..plugin.into()
    };
    let options = Options {
        histories: 500,
        ..Options::default()
    };
    passed(&subject, &options);
}

// Computing takes real time, so this test waits in real time.
#[tokio::test]
async fn a_guest_that_waits_is_not_taken_for_one_that_computes() {
    let plugin = load(component());
    let script = Script::new([Step::ok("[]").after_ms(1_500)]);
    let mut settings = settings(&[], script.outgoing());
    settings.limits.cpu_time = Duration::from_millis(500);
    let mut instance = plugin.instantiate(settings).await.unwrap();
    instance.list_agents("org-1", None).await.unwrap().unwrap();
}
