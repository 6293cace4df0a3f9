//! Many dockets: their number at a time, hours and pace; orders; and the result of each.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use obelisk_harness::{API_URL, CALL, Operator, Setup, Site, contact, listed, until};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::format_description;
use voice_calling_mock::{Endpoint, Fault};

use crate::outcome::{
    assert_counts, assert_nothing_was_cancelled, assert_refused, failure, for_webhook, held,
};
use crate::proxy::Proxy;

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("9198765{n:05}")).collect()
}

fn options(max_open: usize, run: Value) -> Value {
    json!({ "max_open": max_open, "run": run })
}

/// Returns options for runs, some of which end by a poll because the engine was dead when their
/// webhooks came.
fn for_both() -> Value {
    json!({
        "timeout_ms": 600_000,
        "first_poll_ms": 1_500,
        "longest_poll_ms": 1_500,
        "insights_within_ms": 0,
    })
}

/// Returns the hours that have these windows on each day, in UTC.
fn hours(windows: &[(OffsetDateTime, OffsetDateTime)]) -> Result<Value> {
    let clock = format_description!("[hour]:[minute]:[second]");
    let mut week = "mon-sun".to_owned();
    for (opens, closes) in windows {
        week += &format!(" {}-{}", opens.format(clock)?, closes.format(clock)?);
    }
    Ok(json!({ "time_zone": "UTC", "week": week }))
}

/// Returns the time at which the service's clock of requests began: never too early, so that no
/// request seems to have come before it came.
fn clock_started(site: &Site) -> OffsetDateTime {
    let uptime = site.mock.uptime();
    OffsetDateTime::now_utc() - uptime
}

/// Completes the docket of a contact once it exists. (Its run may not be the first, if the engine
/// was too busy to grant the creation.)
async fn complete(site: &Site, number: &str) -> Result<()> {
    let docket = until("the docket of a contact", async || {
        Ok(site.docket_of_contact(number))
    })
    .await?;
    site.mock.complete_docket(&docket)?;
    Ok(())
}

/// Ends the calls that ring, and attends to the campaign.
async fn work(site: &Site, id: &str) -> Result<()> {
    site.end_calls()?;
    site.attend(id).await
}

/// Returns the sum of some counts of a summary.
fn sum(summary: &Value, counts: &[&str]) -> u64 {
    let counts = counts.iter().map(|count| summary[count].as_u64());
    counts.map(Option::unwrap_or_default).sum()
}

/// Runs a campaign to its end, and returns its summary.
async fn run(site: &Site, contacts: &Value, options: &Value) -> Result<Value> {
    let id = site.run_campaign(contacts, options).await?;
    site.summary(&id).await
}

/// Retries the contacts of a campaign that were not created, and returns the summary of the other
/// campaign.
async fn retry(site: &Site, id: &str) -> Result<Value> {
    let other = site.order(id, "retry-not-created").await?;
    site.summary(other["campaign"].as_str().unwrap_or_default())
        .await
}

/// Waits until a campaign has paused itself for this reason.
async fn paused(site: &Site, id: &str, why: &str) -> Result<()> {
    until(&format!("a campaign that pauses: {why}"), async || {
        let progress = site.progress(id).await?;
        let error = progress["error"].as_str().unwrap_or_default();
        Ok((progress["state"] == "paused" && error.contains(why)).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failure_hides_no_other_result() -> Result<()> {
    let site = Site::start(Setup::lively()).await?;
    for fault in [Fault::slow(Duration::ZERO), Fault::status(422)] {
        site.mock.on_next(Endpoint::CreateDocketV2, fault);
    }
    let numbers = numbers(3);
    let id = site
        .run_campaign(&listed(&numbers), &options(1, for_webhook()))
        .await?;
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 2), ("not_created", 1)]);
    let results = site.results(&id).await?;
    let insights = |it: &Value| it["insights"]["call_disposition"] == "INTERESTED";
    assert_eq!(results.iter().filter(|it| insights(it)).count(), 2);
    let rejected = |result: &Value| {
        let error = result["error"].as_str().unwrap_or_default();
        error.starts_with("rejected: ") && error.contains("422")
    };
    let rejected: Vec<_> = results.iter().filter(|it| rejected(it)).collect();
    assert_eq!(rejected.len(), 1, "{results:?}");
    let rung = site.mock.phones_rung();
    assert_eq!(rung.len(), 2, "{rung:?}");
    let rejected = rejected[0]["to_phone_number"].as_str().unwrap_or_default();
    assert!(!rung.iter().any(|it| it == rejected), "{rung:?}");
    assert_nothing_was_cancelled(&site, &id).await?;
    let progress = site.progress(&id).await?;
    assert_eq!(progress["state"], "ended", "{progress}");
    assert_eq!(progress["counts"]["not_created"], 1, "{progress}");
    // It is tried again, once, although it is ordered twice; no one else is.
    for _ in 0..2 {
        let summary = retry(&site, &id).await?;
        assert_counts(&summary, &[("completed", 1), ("not_created", 0)]);
    }
    assert_eq!(site.rung_once()?.len(), 3);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_are_open_than_allowed_and_after_a_stop_nothing_is_begun_and_what_is_open_is_waited_for()
-> Result<()> {
    let site = Site::start(Setup::default()).await?;
    let numbers = numbers(10);
    let id = site
        .run_campaign(&listed(&numbers), &options(2, for_webhook()))
        .await?;
    // A completed docket makes room for one more, and only for one.
    let mut ended = String::new();
    for begun in [2, 3] {
        site.until_creations(begun).await?;
        // An excess docket would be created within this time.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let mut rung = site.mock.phones_rung();
        assert_eq!(rung.len(), begun);
        if begun == 2 {
            ended = rung.remove(1);
            complete(&site, &ended).await?;
        }
    }
    let running = until("what is open", async || {
        let progress = site.progress(&id).await?;
        Ok((progress["counts"]["open"] == 2).then_some(progress))
    })
    .await?;
    assert_counts(&running, &[("total", 10), ("remaining", 9)]);
    assert!(running["ends_at"].is_string(), "{running}");
    let progress = site.order(&id, "stop").await?;
    assert_eq!(
        (&progress["state"], &progress["counts"]["open"]),
        (&json!("stopping"), &json!(2)),
        "{progress}"
    );
    for number in site.mock.phones_rung() {
        if number != ended {
            complete(&site, &number).await?;
        }
    }
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 3), ("not_begun", 7)]);
    assert_eq!(site.creations().len(), 3);
    assert_eq!(site.progress(&id).await?["state"], "stopped");
    assert_refused(site.order(&id, "resume").await, 409);
    let list = listed(&numbers[..1]);
    let second = site.run_campaign(&list, &options(1, for_webhook())).await?;
    let all = site.campaigns().await?;
    let ids: Vec<_> = all["campaigns"].as_array().into_iter().flatten().collect();
    assert_eq!(
        (&ids[0]["campaign"], &ids[1]["campaign"]),
        (&json!(second), &json!(id)),
        "{all}"
    );
    assert_eq!((ids.len(), &ids[1]["state"]), (2, &json!("stopped")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_the_engine_took_is_given_although_its_answer_was_lost() -> Result<()> {
    let mut site = Site::prepare(Setup::default()).await?;
    let (_, api) = site.environment();
    let proxy = Proxy::start(api.address(), ".n:campaign_1/stub", 1).await?;
    site.set_variable(API_URL, &proxy.url);
    site.restart().await?;
    let list = listed(&numbers(2));
    let id = site.run_campaign(&list, &options(1, for_webhook())).await?;
    site.until_creations(1).await?;
    assert_eq!(site.order(&id, "stop").await?["state"], "stopping");
    complete(&site, &site.mock.phones_rung()[0]).await?;
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 1), ("not_begun", 1)]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_goes_on_after_crashes_and_a_pause_in_its_middle() -> Result<()> {
    let numbers = numbers(24);
    let operator = Operator::start(&numbers).await;
    let setup = Setup::hasty().with_calls_held();
    let mut site = Site::start(operator.known_to(setup)).await?;
    let contacts = json!({ "source": operator.source() });
    let id = site
        .run_campaign(&contacts, &options(4, for_both()))
        .await?;
    for killed_after in [3, 8, 13] {
        until("the creations of the campaign", async || {
            // A run that waits for an answer is open as well. Only here a slot becomes free.
            work(&site, &id).await?;
            let begun = site.creating_executions(&id).await?.len();
            Ok((begun >= killed_after).then_some(()))
        })
        .await?;
        site.kill()?;
        site.restart().await?;
    }
    site.order(&id, "pause").await?;
    let begun = site.creations().len();
    site.kill()?;
    site.restart().await?;
    assert_eq!(site.progress(&id).await?["state"], "paused");
    // Further dockets would be created within this time.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(site.creations().len(), begun, "created during a pause");
    assert!(begun < 24, "all was created before the pause");
    site.order(&id, "resume").await?;
    let summary = site
        .summary_with(&id, async || work(&site, &id).await)
        .await?;
    // A person answered that what was in flight at a kill was not created.
    assert_eq!(
        sum(&summary, &["completed", "not_created"]),
        24,
        "{summary}"
    );
    site.check_each_once(&id, &numbers).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_rings_outside_the_hours_though_the_engine_was_dead_when_they_ended() -> Result<()>
{
    let setup = Setup::hasty().with_pace(Duration::from_millis(400));
    let mut site = Site::start(setup).await?;
    let started = clock_started(&site);
    let numbers = numbers(30);
    let in_seconds = |seconds: i64| {
        let moment = OffsetDateTime::now_utc() + time::Duration::seconds(seconds);
        moment.replace_nanosecond(0)
    };
    let windows = [
        (in_seconds(4)?, in_seconds(24)?),
        (in_seconds(34)?, in_seconds(3_600)?),
    ];
    let mut options = options(3, for_both());
    options["hours"] = hours(&windows)?;
    let id = site.run_campaign(&listed(&numbers), &options).await?;
    site.until_creations(3).await?;
    // The engine is dead when the first window ends, and is restarted before the second begins.
    site.kill()?;
    let left = windows[0].1 + Duration::from_secs(1) - OffsetDateTime::now_utc();
    tokio::time::sleep(left.try_into().unwrap_or_default()).await;
    site.restart().await?;
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("not_begun", 0)]);
    let mut in_window = [0; 2];
    for creation in site.creations() {
        let moment = started + creation.at;
        let within = |(opens, closes): &(OffsetDateTime, OffsetDateTime)| {
            *opens <= moment && moment < *closes
        };
        let within = windows.iter().position(within);
        in_window[within.with_context(|| format!("it rang at {moment}, not in {windows:?}"))?] += 1;
    }
    assert!(in_window[0] >= 3 && in_window[1] >= 3, "{in_window:?}");
    site.check_each_once(&id, &numbers).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pace_holds_for_what_is_created_again_too() -> Result<()> {
    let site = Site::start(Setup::lively()).await?;
    let started = clock_started(&site);
    // Two of the first requests are rejected.
    for _ in 0..2 {
        site.mock
            .on_next(Endpoint::CreateDocketV2, Fault::status(429));
    }
    let mut options = options(10, for_webhook());
    options["per_minute"] = json!(60);
    let submitted = OffsetDateTime::now_utc();
    let id = site.run_campaign(&listed(&numbers(8)), &options).await?;
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 8)]);
    let mut begun: Vec<_> = site.creations().iter().map(|it| it.at).collect();
    assert_eq!(begun.len(), 10, "two were created again");
    begun.sort();
    // One in each second from the present one on; each may be late, and none is early.
    for (count, at) in begun.iter().enumerate() {
        let second = (started + *at).unix_timestamp() - submitted.unix_timestamp();
        assert!(second >= count as i64, "{begun:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_is_listed_meanwhile_is_spared_and_each_end_is_handed_off() -> Result<()> {
    let numbers = numbers(3);
    let operator = Operator::start(&numbers).await;
    let mut site = Site::start(operator.known_to(Setup::hasty())).await?;
    let mut options = options(1, for_webhook());
    options["run"]["hand_off"] = json!(true);
    let contacts = json!({ "source": operator.source() });
    let id = site.run_campaign(&contacts, &options).await?;
    // On a busy machine a contact may be called after those behind it.
    site.until_creations(1).await?;
    let first = site.mock.phones_rung().remove(0);
    let others: Vec<_> = numbers.iter().filter(|it| **it != first).collect();
    let (second, spared) = (others[0], others[1]);
    operator.spare(spared);
    // It is unknown whether the second docket was created: a person is asked, and finds it.
    site.mock.on_next(Endpoint::CreateDocketV2, held());
    complete(&site, &first).await?;
    site.until_creations(2).await?;
    site.kill()?;
    site.restart().await?;
    let question = until("the question is handed off", async || {
        let events = operator.events().await?;
        let question = events.iter().find(|(_, body)| body["event"] == "question");
        Ok(question.map(|(_, body)| body["execution_id"].clone()))
    })
    .await?;
    let progress = site.progress(&id).await?;
    assert_eq!(progress["questions"][0]["execution_id"], question);
    let run = progress["questions"][0]["run"].as_str().unwrap_or_default();
    let docket = json!({ "ok": site.docket_of(run) });
    for wrong in [json!({ "ok": 7 }), json!({ "yes": "d-1" })] {
        assert_refused(site.answer_question(&id, run, &wrong).await, 400);
    }
    site.answer_question(&id, run, &docket).await?;
    assert_refused(site.answer_question(&id, run, &docket).await, 409);
    complete(&site, second).await?;
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 2), ("spared", 1)]);
    assert_eq!(site.mock.phones_rung(), [first, second.to_owned()]);
    let states = until("all ends are handed off", async || {
        let events = operator.events().await?;
        let ended = events.iter().filter(|(key, _)| key.ends_with(":ended"));
        let ended: BTreeSet<_> = ended
            .map(|(key, body)| (key.clone(), body["state"].to_string()))
            .collect();
        Ok((ended.len() == 3).then_some(ended))
    })
    .await?;
    let mut states: Vec<_> = states.iter().map(|(_, state)| state.as_str()).collect();
    // A contact that was not granted in time is dispatched after the others.
    states.sort_unstable();
    assert_eq!(states, ["\"completed\"", "\"completed\"", "\"spared\""]);
    until(
        "the first event, which was answered 503, with the same key",
        async || {
            let events = operator.events().await?;
            let again = events.iter().filter(|(key, _)| *key == events[0].0).count();
            Ok((again >= 2).then_some(()))
        },
    )
    .await?;
    until("the end of the campaign is handed off", async || {
        let events = operator.events().await?;
        let is_end = |body: &Value| body["run"] == *id && body["state"] == "ended";
        Ok(events.iter().any(|(_, body)| is_end(body)).then_some(()))
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_pauses_itself_when_no_contact_can_be_called_and_loses_none() -> Result<()> {
    let site = Site::start(Setup::lively()).await?;
    let numbers = numbers(12);
    site.mock
        .on_next(Endpoint::CreateDocketV2, Fault::status(401));
    let id = site
        .run_campaign(&listed(&numbers), &options(1, for_webhook()))
        .await?;
    paused(&site, &id, "unauthorized: ").await?;
    assert_eq!(site.creations().len(), 1);
    // The campaign resumes when the pause is over; a pause of an hour would behave the same.
    site.mock
        .on_next(Endpoint::CreateDocketV2, Fault::rate_limited(Some("61")));
    site.order(&id, "resume").await?;
    paused(&site, &id, "for 61000 ms: rate-limited").await?;
    assert_eq!(site.creations().len(), 2);
    until("the next creation", async || {
        Ok((site.creations().len() > 2).then_some(()))
    })
    .await?;
    let second = site.creations()[1].at;
    assert!(site.creations()[2].at - second >= Duration::from_secs(61));
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 12), ("not_created", 0)]);
    site.check_each_once(&id, &numbers).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_that_come_after_a_campaign_was_resumed_do_not_pause_it_again() -> Result<()> {
    let site = Site::start(Setup::patient().with_calls_held()).await?;
    let numbers = numbers(6);
    // As many as may be in flight at the beginning, and as stop a campaign.
    for _ in 0..5 {
        let late = format!("401:delay-ms={}", CALL.as_millis()).parse()?;
        site.mock.on_next(Endpoint::CreateDocketV2, late);
    }
    let id = site
        .run_campaign(&listed(&numbers), &options(6, for_webhook()))
        .await?;
    site.until_creations(5).await?;
    for order in ["pause", "resume"] {
        site.order(&id, order).await?;
    }
    let summary = site.summary_with(&id, async || site.end_calls()).await?;
    assert_counts(&summary, &[("completed", 6), ("not_created", 0)]);
    site.check_each_once(&id, &numbers).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_costs_five_questions_and_what_was_not_created_is_called_later() -> Result<()> {
    let site = Site::start(Setup::lively()).await?;
    let numbers = numbers(40);
    for _ in 0..5 {
        site.mock
            .on_next(Endpoint::CreateDocketV2, Fault::status(503));
    }
    let id = site
        .run_campaign(&listed(&numbers), &options(30, for_webhook()))
        .await?;
    paused(&site, &id, "5 requests in a row had failed").await?;
    // Those in flight are counted: there is no sixth.
    assert_eq!(site.creations().len(), 5);
    let progress = until("the questions", async || {
        let progress = site.progress(&id).await?;
        let questions = progress["questions"].as_array().map_or(0, Vec::len);
        Ok((questions == 5).then_some(progress))
    })
    .await?;
    assert_eq!(progress["counts"]["open"], 5, "{progress}");
    let asked = progress["questions"].as_array().into_iter().flatten();
    let number = |it: &Value| it["to_phone_number"].to_string();
    let asked: BTreeSet<_> = asked.map(number).collect();
    let sent = site.creations().into_iter();
    let sent: Vec<Value> = sent
        .map(|it| serde_json::from_slice(&it.body))
        .collect::<Result<_, _>>()?;
    assert_eq!(asked, sent.iter().map(number).collect());
    assert_refused(site.order(&id, "resume").await, 409);
    site.answer_questions().await?;
    site.order(&id, "resume").await?;
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 35), ("not_created", 5)]);
    site.check_each_once(&id, &numbers).await?;
    assert_eq!(retry(&site, &id).await?["completed"], 5);
    assert_eq!(site.rung_once()?.len(), 40);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_pauses_for_a_wrong_address_at_once_and_for_refusals_if_they_are_many()
-> Result<()> {
    let site = Site::start(Setup::lively()).await?;
    let numbers = numbers(105);
    for status in [404, 405] {
        let before = site.creations().len();
        for _ in 0..5 {
            site.mock
                .on_next(Endpoint::CreateDocketV2, Fault::status(status));
        }
        let list = listed(&numbers[..9]);
        let id = site.run_campaign(&list, &options(9, for_webhook())).await?;
        paused(&site, &id, &status.to_string()).await?;
        assert!(site.creations().len() <= before + 5);
        assert_eq!(site.progress(&id).await?["counts"]["not_created"], 0);
        site.order(&id, "stop").await?;
        site.summary(&id).await?;
        site.mock.clear_orders();
    }
    assert_eq!(site.mock.phones_rung().len(), 0);
    let before = site.creations().len();
    for _ in 0..99 {
        site.mock
            .on_next(Endpoint::CreateDocketV2, Fault::status(422));
    }
    let id = site
        .run_campaign(&listed(&numbers), &options(50, for_webhook()))
        .await?;
    let mut refused = 0;
    for _ in 0..3 {
        paused(&site, &id, "requests in a row had failed").await?;
        let more = until("the end of those in flight", async || {
            let counts = &site.progress(&id).await?["counts"];
            let ended = sum(counts, &["not_created"]);
            let sent = (site.creations().len() - before) as u64;
            Ok((ended == sent).then_some(sent - refused))
        })
        .await?;
        // At most five are in flight.
        assert!((25..30).contains(&more), "{more}");
        refused += more;
        site.order(&id, "resume").await?;
    }
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 6), ("not_created", 99)]);
    // They are read page by page.
    assert_eq!(retry(&site, &id).await?["completed"], 99);
    assert_eq!(site.rung_once()?.len(), 105);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_a_number_holds_for_every_campaign() -> Result<()> {
    let site = Site::start(Setup::lively()).await?;
    let numbers = numbers(6);
    let list = |range: std::ops::Range<usize>| listed(&numbers[range]);
    // So often, and not too soon.
    let mut limited = options(1, for_webhook());
    limited["per_number"] = json!({ "max_calls": 2, "gap_ms": 4_000 });
    let begun = site.mock.uptime();
    for (completed, spared) in [(2, 0), (2, 0), (0, 2)] {
        let summary = run(&site, &list(0..2), &limited).await?;
        assert_counts(&summary, &[("completed", completed), ("spared", spared)]);
    }
    let creations = site.creations();
    assert_eq!(creations.len(), 4);
    // The gap begins when a call is counted, which may be some time before its request.
    assert!(creations[2].at - begun >= Duration::from_millis(3_990));
    // What is refused does not count.
    site.mock
        .on_next(Endpoint::CreateDocketV2, Fault::status(422));
    limited["per_number"]["max_calls"] = json!(1);
    let summary = run(&site, &list(2..3), &limited).await?;
    assert_counts(&summary, &[("not_created", 1)]);
    let summary = run(&site, &list(2..3), &limited).await?;
    assert_counts(&summary, &[("completed", 1)]);
    // The mock's persons are interested. Here they opt out by that, or by their metadata.
    let opt_outs = [
        json!({ "dispositions": ["interested"], "metadata": [] }),
        json!({ "dispositions": [], "metadata": [{ "name": "language", "value": "en" }] }),
    ];
    for (nth, opt_out) in opt_outs.iter().enumerate() {
        let range = 3 + nth..4 + nth;
        let mut options = options(1, for_webhook());
        options["run"]["opt_out"] = opt_out.clone();
        let summary = run(&site, &list(range.clone()), &options).await?;
        assert_counts(&summary, &[("completed", 1)]);
        let other = self::options(9, for_webhook());
        let summary = run(&site, &list(range.start..6), &other).await?;
        assert_counts(&summary, &[("spared", 1)]);
        let run = site
            .run_docket(&numbers[range.start], for_webhook())
            .await?;
        let (case, _) = failure(&site, &run).await?;
        assert_eq!(case, "permanent_spared");
    }
    let rung = site.mock.phones_rung();
    let times: Vec<_> = numbers
        .iter()
        .map(|number| rung.iter().filter(|it| *it == number).count())
        .collect();
    // The last ones were called by the campaigns that spare their neighbours.
    assert_eq!(times, [2, 2, 1, 1, 2, 2]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_called_up_to_the_ceiling_and_its_results_are_a_table() -> Result<()> {
    let numbers = numbers(3);
    let rows = numbers.iter().map(|it| format!("{it};7;Asha, K.\n"));
    let table = format!(
        "to_phone_number;agent_id;name\n{}",
        rows.collect::<String>()
    );
    let operator = Operator::with_file(table).await;
    let site = Site::start(operator.known_to(Setup::lively())).await?;
    let mut options = options(3, for_webhook());
    options["max_creations"] = json!(2);
    let source = json!({ "source": operator.source() });
    let id = site.run_campaign(&source, &options).await?;
    paused(&site, &id, "max_creations: 2").await?;
    assert_eq!(site.creations().len(), 2);
    site.order(&id, "resume").await?;
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 3)]);
    site.check_each_once(&id, &numbers).await?;
    let context = String::from_utf8_lossy(&site.creations()[0].body).into_owned();
    assert!(context.contains("Asha, K."), "{context}");
    let results = site.results_csv(&id).await?;
    let header = "index,to_phone_number,external_id,run,state,docket_id,known_by,call_disposition";
    assert!(results.starts_with(header), "{results}");
    assert_eq!(results.matches(",INTERESTED,").count(), 3, "{results}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_whose_source_cannot_be_read_pauses_and_reads_on_when_it_is_resumed()
-> Result<()> {
    let numbers = numbers(101);
    let operator = Operator::with_contacts(&large_contacts(&numbers)).await;
    operator.set_reads(1);
    let site = Site::start(operator.known_to(Setup::lively())).await?;
    let mut run = for_webhook();
    run["create_within_ms"] = json!(40_000);
    let source = json!({ "source": operator.source() });
    let id = site.run_campaign(&source, &options(50, run)).await?;
    paused(&site, &id, "503").await?;
    // Contacts of the first page; one that was not granted in time is created after the pause.
    let before = site.creations().len();
    assert!((1..=100).contains(&before), "{before} creations");
    operator.set_reads(usize::MAX);
    site.order(&id, "resume").await?;
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 101)]);
    site.check_each_once(&id, &numbers).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_do_not_call_list_cannot_be_read_no_one_is_called() -> Result<()> {
    let numbers = numbers(3);
    let operator = Operator::start(&numbers).await;
    operator.empty_do_not_call_list();
    let site = Site::start(operator.known_to(Setup::lively())).await?;
    let id = site
        .run_campaign(&listed(&numbers), &options(3, for_webhook()))
        .await?;
    until("checks that are repeated", async || {
        let checks = operator.checks().await;
        Ok((checks > numbers.len()).then_some(()))
    })
    .await?;
    assert_eq!(site.creations().len(), 0);
    operator.spare(&numbers[1]);
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 2), ("spared", 1)]);
    let called = BTreeSet::from([numbers[0].clone(), numbers[2].clone()]);
    assert_eq!(site.rung_once()?, called);
    Ok(())
}

/// Returns contacts of 5 KB, some 50 of which are a page.
fn large_contacts(numbers: &[String]) -> Vec<Value> {
    let context = json!({ "note": "x".repeat(5_000) }).to_string();
    let large = |number: &String| {
        let mut contact = contact(number);
        contact["call_context"] = json!(context);
        contact
    };
    numbers.iter().map(large).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn contacts_are_checked_before_anything_rings_and_no_number_rings_twice() -> Result<()> {
    let mut numbers = numbers(110);
    numbers[50] = format!("+91 ({}) {}", &numbers[10][2..7], &numbers[10][7..]);
    numbers[60] = "12345".to_owned();
    numbers[105] = format!("00{}", numbers[20]);
    numbers[106] = format!("0{}", &numbers[107][2..]);
    let mut contacts = large_contacts(&numbers);
    // It is another time there, and the others are called meanwhile.
    contacts[0]["time_zone"] = json!("Asia/Tokyo");
    let operator = Operator::with_contacts(&contacts).await;
    operator.spare(&numbers[40]);
    let setup = Setup::hasty().with_pace(Duration::from_millis(300));
    let mut site = Site::start(operator.known_to(setup)).await?;
    let source = json!({ "source": operator.source() });
    let mut options = options(20, for_both());
    options["country_code"] = json!("91");
    let (now, hour) = (OffsetDateTime::now_utc(), time::Duration::HOUR);
    options["hours"] = hours(&[(now - hour, now + hour)])?;
    options["check_only"] = json!(true);
    let check = site.run_campaign(&source, &options).await?;
    let summary = site.summary(&check).await?;
    assert_counts(
        &summary,
        &[
            ("callable", 105),
            ("invalid", 1),
            ("duplicate", 3),
            ("spared", 1),
        ],
    );
    let results = site.results(&check).await?;
    let found: Vec<_> = results.iter().map(|it| it["index"].as_u64()).collect();
    assert_eq!(found, [40, 50, 60, 105, 107].map(Some), "{results:?}");
    assert_eq!(site.creations().len(), 0);
    options["check_only"] = json!(false);

    let id = site.run_campaign(&source, &options).await?;
    site.until_creations(10).await?;
    site.kill()?;
    site.restart().await?;
    until("all but the contact in Tokyo", async || {
        site.attend(&id).await?;
        let counts = &site.progress(&id).await?["counts"];
        Ok((sum(counts, &["completed", "not_created"]) == 104).then_some(()))
    })
    .await?;
    site.order(&id, "stop").await?;
    let summary = site.summary(&id).await?;
    assert_counts(
        &summary,
        &[
            ("not_begun", 1),
            ("invalid", 1),
            ("duplicate", 3),
            ("spared", 1),
        ],
    );
    let rung = site.rung_once()?;
    assert!(!rung.contains(&numbers[0]), "{rung:?}");
    let results = site.results(&id).await?;
    assert_eq!(results.len(), 109);
    for (index, first) in [(50, 10), (105, 20), (107, 106)] {
        let result = &results[index - 1];
        assert_eq!(
            (&result["index"], &result["state"]),
            (&json!(index), &json!("duplicate"))
        );
        assert_eq!(result["error"], format!("the number of contact {first}"));
    }

    // Where it is wanted, it rings twice: the mock and this test would notice.
    let twice = vec!["911111100000".to_owned(); 2];
    options["allow_duplicates"] = json!(true);
    let id = site.run_campaign(&listed(&twice), &options).await?;
    assert_eq!(site.summary(&id).await?["duplicate"], 0);
    let rung = site.mock.phones_rung();
    assert_eq!(rung.iter().filter(|it| **it == twice[0]).count(), 2);
    // Listed contacts are refused as a whole.
    let wrong = listed(&[twice[0].clone(), "12345".to_owned()]);
    let id = site.run_campaign(&wrong, &options).await?;
    let refused = until("the refusal", async || {
        let progress = site.progress(&id).await?;
        Ok((progress["state"] == "failed").then_some(progress))
    })
    .await?;
    let problem = &refused["error"]["permanent_invalid_input"];
    assert_eq!(
        problem["subject"], "contacts.listed[1].to-phone-number",
        "{refused}"
    );
    assert_eq!(problem["found"], "5 digits", "{refused}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_database_calls_no_one_while_creations_are_held_and_no_one_twice_afterwards()
-> Result<()> {
    const HOLD: &str = "VOICE_CALLING_HOLD";
    let numbers = numbers(12);
    let operator = Operator::start(&numbers).await;
    let setup = Setup::hasty().with_calls_held();
    let mut site = Site::start(operator.known_to(setup)).await?;
    let mut options = options(2, for_both());
    options["run"]["hand_off"] = json!(true);
    let contacts = json!({ "source": operator.source() });
    let id = site.run_campaign(&contacts, &options).await?;
    let created = async |site: &Site, count: usize| {
        until("the creations", async || {
            work(site, &id).await?;
            Ok((site.creations().len() >= count).then_some(()))
        })
        .await
    };
    created(&site, 3).await?;
    site.kill()?;
    let copy = tempfile::tempdir()?;
    site.copy_database(copy.path())?;
    let before = site.mock.phones_rung();
    site.restart().await?;
    created(&site, before.len() + 3).await?;
    site.kill()?;
    let rung = site.mock.phones_rung();
    assert!(rung.len() < numbers.len(), "nothing is left to call");

    site.restore_database(copy.path())?;
    site.set_variable(HOLD, "restored");
    site.restart().await?;
    let paused = async || {
        until("a campaign that pauses", async || {
            // What was in flight at the kill holds its slot until a person has looked.
            work(&site, &id).await?;
            let progress = site.progress(&id).await?;
            let error = progress["error"].as_str().unwrap_or_default();
            let is_held = error.ends_with("held by VOICE_CALLING_HOLD: restored");
            Ok((progress["state"] == "paused" && is_held).then_some(()))
        })
        .await
    };
    paused().await?;
    // A docket without a campaign waits, and a campaign that is resumed too early pauses again.
    let single = site.run_docket("919876599999", for_both()).await?;
    site.order(&id, "resume").await?;
    paused().await?;
    until("the pauses are handed off", async || {
        let events = operator.events().await?;
        let paused = events.iter().filter(|(_, body)| body["state"] == "paused");
        let keys: BTreeSet<_> = paused.map(|(key, _)| key).collect();
        Ok((keys.len() >= 2).then_some(()))
    })
    .await?;
    assert_eq!(site.mock.phones_rung(), rung);

    // What rang since the copy is not called again.
    for number in rung.iter().filter(|number| !before.contains(number)) {
        operator.spare(number);
    }
    site.set_variable(HOLD, "");
    site.restart().await?;
    site.order(&id, "resume").await?;
    let summary = site
        .summary_with(&id, async || work(&site, &id).await)
        .await?;
    assert_counts(&summary, &[("not_begun", 0)]);
    until("the end of the docket", async || {
        site.end_calls()?;
        site.api().result(&single).await
    })
    .await?
    .ok()?;
    let rung = site.rung_once()?;
    // The others were in flight when the engine was killed, and never sent.
    let not_created = sum(&summary, &["not_created"]);
    assert!(rung.len() as u64 + not_created >= 13, "{summary} {rung:?}");
    Ok(())
}

/// Returns a setup in which the tests answer in place of the operator's component.
fn without_operator() -> Result<Setup> {
    let deployment = include_str!("../../../deployment.toml");
    let begin = deployment.find("[[activity_wasm]]\nname = \"operator\"");
    let operator = &deployment[begin.context("no operator")?..];
    let end = operator.find("\n# ---").context("nothing follows it")?;
    let stub = "[[activity_stub]]\nname = \"operator\"\nlocation = \"operator.wasm\"\n";
    Ok(Setup::default().with_change(&operator[..end], stub))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contact_that_must_not_be_called_yet_holds_no_slot_and_is_called_after_its_moment()
-> Result<()> {
    const MAY_CALL: &str = "voice-calling:operator/check@0.2.0.may-call";
    let site = Site::start(without_operator()?).await?;
    let started = clock_started(&site);
    let numbers = numbers(2);
    let id = site
        .run_campaign(&listed(&numbers), &options(1, for_webhook()))
        .await?;
    let answer = async |verdict: Value| {
        let asked = until("the question whether to call", async || {
            let filter = format!("ffqn_prefix={MAY_CALL}&hide_finished=true");
            Ok(site.api().list(&filter).await?.pop())
        })
        .await?;
        let asked = asked["execution_id"].as_str().context("no id")?;
        site.api().stub(asked, &json!({ "ok": verdict })).await
    };
    let moment = OffsetDateTime::now_utc() + Duration::from_secs(20);
    let moment_ms = moment.unix_timestamp_nanos() / 1_000_000;
    answer(json!({ "not_before": moment_ms as u64 })).await?;
    // The other contact has the slot at once, and the first one after it.
    for begun in [1, 2] {
        answer(json!("allowed")).await?;
        site.until_creations(begun).await?;
        let number = site.mock.phones_rung().remove(begun - 1);
        complete(&site, &number).await?;
    }
    let [early, late] = [0, 1].map(|nth| started + site.creations()[nth].at);
    assert!(
        early < moment && moment <= late,
        "{early} {moment} {late}: was the machine too busy?"
    );
    let summary = site.summary(&id).await?;
    assert_counts(&summary, &[("completed", 2)]);
    site.check_each_once(&id, &numbers).await?;
    Ok(())
}
