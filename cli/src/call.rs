//! Calling the people of a list: when the next call may begin, and what becomes of each.

use crate::list::{DO_NOT_CALL, List, look_up};
use crate::outcome::{Counts, Kind, Outcome};
use crate::progress::Progress;
use crate::results;
use crate::say;
use crate::stop::Stop;
use anyhow::Result;
use futures_util::StreamExt;
use futures_util::stream::iter;
use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::JoinSet;
use tokio::time::sleep;
use voice_calling::{Client, CreatedDocketV2, Error, FailureKind, Ledger, NextStep, Recorded};
use voice_calling_core::{Breaker, Decision};
use voice_calling_rules::Window;

/// How long the clock is trusted while nothing may begin: a machine may sleep meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(20);

/// The longest time for which a rate limit is waited for.
const LONGEST_PAUSE_MS: u64 = 15 * 60_000;

/// The shortest pause after a rate limit that outlasted all attempts.
const SHORTEST_PAUSE_MS: u64 = 10_000;

/// The longest wait that is not announced.
const LONGEST_SILENCE_MS: u64 = 20_000;

/// The number of rows that are compared with the ledger at once.
const CONFIRMED_AT_ONCE: usize = 16;

/// Why a run has ended that the user has interrupted.
const INTERRUPTED: &str = "it was interrupted. Run the same command again for the rest";

/// How fast calls begin, and how many.
#[derive(clap::Args)]
pub(crate) struct PaceArgs {
    /// The maximum number of calls that begin in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60_000))]
    per_minute: Option<u32>,
    /// The maximum number of calls that this run begins
    #[arg(long, value_name = "N")]
    max_creates: Option<usize>,
    /// The maximum number of open requests
    #[arg(long, value_name = "N", env = "VOICE_CALLING_MAX_IN_FLIGHT", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub in_flight: u16,
}

/// What happens next.
enum Next {
    /// The row with this index is called.
    Begin(usize),
    /// Nothing begins before this time.
    At(u64),
    /// A create in flight has to end first.
    AfterOne,
    /// Nothing further begins; the reason, unless all is done.
    End(Option<String>),
}

/// What becomes of a create.
type CreateResult = Result<Recorded<CreatedDocketV2>, Error>;

/// A run over a list.
struct Run<'a> {
    args: &'a PaceArgs,
    /// The rows to be called, by the index of their hours, and the latest window of these.
    queues: Vec<(VecDeque<usize>, Option<Window>)>,
    /// The rows that are being called, and since when.
    open: BTreeMap<usize, u64>,
    breaker: Breaker,
    begun: usize,
    /// The pace and the service's rate limit permit no call before.
    not_before_ms: u64,
    /// Why the service has ended the run.
    ended: Option<String>,
    /// What follows from the latest failure.
    next_step: NextStep,
}

/// Calls the rows that may be called. Returns why the run ended early, if it did.
pub(crate) async fn call(
    list: &mut List,
    client: &Client,
    ledger: &Ledger,
    args: &PaceArgs,
    stop: &Stop,
) -> Result<Option<String>> {
    confirm(list, client, stop).await;
    if stop.is_asked() {
        return Ok(Some(INTERRUPTED.to_owned()));
    }
    let mut counts = list.counts();
    let mut progress = Progress::new(counts.get(Kind::Callable));
    let mut run = Run::new(list, args);
    let mut creates: JoinSet<(usize, CreateResult)> = JoinSet::new();
    let mut shown_ms = 0;
    let reason = loop {
        run.leave_out(list, &mut counts);
        let now_ms = now_ms();
        let is_stopped = stop.is_asked();
        let pause = match run.next(list, now_ms, is_stopped) {
            Next::Begin(index) => {
                let row = &list.rows[index];
                let (client, request) = (client.with_key(&*row.key), list.request(row));
                let create = async move { (index, client.create_docket_v2(&request).await) };
                creates.spawn(create);
                continue;
            }
            Next::End(reason) if creates.is_empty() => break reason,
            Next::At(at_ms) => {
                if at_ms > now_ms + LONGEST_SILENCE_MS && at_ms > shown_ms + 1_000 {
                    shown_ms = at_ms;
                    progress.say(&format!("waiting until {}", results::time(at_ms)));
                }
                Duration::from_millis(at_ms.saturating_sub(now_ms).max(1)).min(LONGEST_SLEEP)
            }
            Next::AfterOne | Next::End(_) => LONGEST_SLEEP,
        };
        tokio::select! {
            Some(joined) = creates.join_next() => {
                let (index, result) = joined?;
                let row = &mut list.rows[index];
                if let Some(outcome) = run.on_end(index, row.zone, &result, self::now_ms()) {
                    counts.replace(row.outcome.kind, outcome.kind);
                    row.outcome = outcome;
                }
            }
            () = stop.asked(), if !is_stopped => {
                progress.say("finishing the open calls; interrupt once more to leave them unknown");
            }
            () = stop.asked_twice(), if is_stopped => creates.shutdown().await,
            () = sleep(pause) => {}
        }
        progress.update(&counts);
    };
    drop(progress);
    // What was left open, and what another process calls, is as the ledger has it.
    let rows = list.rows.iter_mut().enumerate();
    let rows = rows.filter(|(index, row)| run.open.contains_key(index) || row.is(Kind::InProgress));
    look_up(ledger, rows.map(|(_, row)| row)).await?;
    for row in run.open.keys().map(|index| &list.rows[*index]) {
        say(format_args!(
            "left {}: {}",
            row.outcome.kind.name(),
            row.key
        ));
    }
    Ok(reason)
}

/// Compares the rows that were called before with the ledger: one that has changed since is not
/// what was called. Nothing is sent, since the keys are done.
async fn confirm(list: &mut List, client: &Client, stop: &Stop) {
    let done = list.rows.iter().enumerate();
    let done = done.filter(|(_, row)| row.is(Kind::CalledBefore) && !row.number.is_empty());
    let confirmed = done.map(|(index, row)| {
        let (client, request) = (client.with_key(&*row.key), list.request(row));
        async move { (index, client.create_docket_v2(&request).await.err()) }
    });
    let confirmed = iter(confirmed).buffer_unordered(CONFIRMED_AT_ONCE);
    let errors = confirmed.filter_map(|(index, error)| ready(error.map(|error| (index, error))));
    let errors = errors.take_until(Box::pin(stop.asked()));
    for (index, error) in errors.collect::<Vec<_>>().await {
        let outcome = &mut list.rows[index].outcome;
        let Outcome { kind, note, .. } = Outcome::of_error(&error);
        outcome.note = note;
        if kind == Kind::Changed {
            outcome.kind = kind;
        }
    }
}

impl<'a> Run<'a> {
    fn new(list: &List, args: &'a PaceArgs) -> Self {
        let mut queues = vec![(VecDeque::new(), None); list.hours.len()];
        let rows = list.rows.iter().enumerate();
        for (index, row) in rows.filter(|(_, row)| row.is(Kind::Callable)) {
            queues[row.zone].0.push_back(index);
        }
        Self {
            args,
            queues,
            open: BTreeMap::new(),
            breaker: Breaker::default(),
            begun: 0,
            not_before_ms: 0,
            ended: None,
            next_step: NextStep::RetryLater,
        }
    }

    /// Leaves out the next rows whose numbers have come onto the do-not-call list since.
    fn leave_out(&mut self, list: &mut List, counts: &mut Counts) {
        if let Err(error) = list.do_not_call.refresh() {
            let advice = "Correct the file, and run the same command again";
            self.ended = Some(format!("{error:#}. {advice}"));
        }
        for (queue, _) in &mut self.queues {
            while let Some(row) = queue.front().map(|index| &mut list.rows[*index])
                && list.do_not_call.numbers.contains(&row.number)
            {
                counts.replace(row.outcome.kind, Kind::DoNotCall);
                row.outcome = Outcome::new(Kind::DoNotCall, DO_NOT_CALL);
                queue.pop_front();
            }
        }
    }

    /// Decides what happens next.
    fn next(&mut self, list: &List, now_ms: u64, is_stopped: bool) -> Next {
        let end = |reason: &str| Next::End(Some(reason.to_owned()));
        if self.queues.iter().all(|(queue, _)| queue.is_empty()) {
            // A rate limit puts an open one back.
            return match self.open.is_empty() {
                true => Next::End(None),
                false => Next::AfterOne,
            };
        }
        if is_stopped {
            return end(INTERRUPTED);
        }
        if let Some(reason) = &self.ended {
            return end(reason);
        }
        if self.args.max_creates.is_some_and(|max| self.begun >= max) {
            return end("--max-creates was reached. Run the same command again for the rest");
        }
        if self.open.len() >= self.args.in_flight.into() {
            return Next::AfterOne;
        }
        if is_paused(self.not_before_ms, now_ms) {
            return Next::At(self.not_before_ms);
        }
        let zone = match self.open_zone(list, now_ms) {
            Ok(zone) => zone,
            Err(Some(opens_ms)) => return Next::At(opens_ms),
            Err(None) => return end("there are no calling hours any more"),
        };
        match self.breaker.decide() {
            Decision::Wait => Next::AfterOne,
            Decision::Stop(reason) => end(&format!("{reason}. {}", advice(self.next_step))),
            Decision::Begin => {
                let index = self.queues[zone]
                    .0
                    .pop_front()
                    .expect("a queue that is not empty");
                self.open.insert(index, now_ms);
                self.begun += 1;
                if let Some(per_minute) = self.args.per_minute {
                    self.not_before_ms = now_ms + 60_000 / u64::from(per_minute);
                }
                Next::Begin(index)
            }
        }
    }

    /// Returns the zone of the first row that may be called now; or else when the next hours begin.
    fn open_zone(&mut self, list: &List, now_ms: u64) -> Result<usize, Option<u64>> {
        let (mut first, mut opens_ms) = (None, None);
        for (zone, (queue, window)) in self.queues.iter_mut().enumerate() {
            let Some(index) = queue.front().copied() else {
                continue;
            };
            if let Some(hours) = &list.hours[zone] {
                if window.is_none_or(|it: Window| now_ms < it.opens_ms || it.closes_ms <= now_ms) {
                    *window = hours.next(now_ms);
                }
                match window.map(|window| window.opens_ms) {
                    Some(opens) if opens <= now_ms => {}
                    opens => {
                        opens_ms = [opens_ms, opens].into_iter().flatten().min();
                        continue;
                    }
                }
            }
            first = [first, Some((index, zone))].into_iter().flatten().min();
        }
        first.map(|(_, zone)| zone).ok_or(opens_ms)
    }

    /// Takes how a create has ended. Returns `None` if its row waits for the rate limit.
    fn on_end(
        &mut self,
        index: usize,
        zone: usize,
        result: &CreateResult,
        now_ms: u64,
    ) -> Option<Outcome> {
        let begun_ms = self.open.remove(&index).unwrap_or_default();
        let error = match result {
            Ok(created) => {
                let kind = if created.from_ledger {
                    self.breaker.on_nothing_sent();
                    Kind::CalledBefore
                } else {
                    self.breaker.on_success();
                    Kind::Called
                };
                return Some(Outcome {
                    docket_id: Some(created.docket_id.as_str().into()),
                    at_ms: begun_ms,
                    ..Outcome::new(kind, "")
                });
            }
            Err(error) => error,
        };
        if error.kind() == FailureKind::RateLimited {
            self.breaker.on_nothing_sent();
            self.queues[zone].0.push_front(index);
            self.begun -= 1;
            let asked_ms = error.retry_after().map_or(0, |it| it.as_millis() as u64);
            if asked_ms > LONGEST_PAUSE_MS {
                self.ended = Some(format!("{error}. Run the same command again then"));
            }
            let pause_ms = asked_ms.clamp(SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS);
            self.not_before_ms = self.not_before_ms.max(now_ms + pause_ms);
            return None;
        }
        self.breaker.on_failure(error.failure());
        self.next_step = error.next_step();
        Some(Outcome {
            at_ms: match error.may_have_created() {
                true => begun_ms,
                false => 0,
            },
            ..Outcome::of_error(error)
        })
    }
}

/// Returns `true` if the time has not come. One that is far away is of a clock that was set back.
fn is_paused(until_ms: u64, now_ms: u64) -> bool {
    (1..=LONGEST_PAUSE_MS).contains(&until_ms.saturating_sub(now_ms))
}

/// Returns what someone has to do after too many failures.
pub(crate) fn advice(next_step: NextStep) -> &'static str {
    match next_step {
        NextStep::FixSetting => "Correct the setting that it names, and run the same command again",
        NextStep::RetryLater => "Run the same command again later",
        NextStep::Refused => "Look at the rows that were refused, at the agent and at the columns",
        NextStep::Unknown => {
            "Find out what became of those that `voice-calling unknown` shows, and run the same \
             command again later"
        }
    }
}

/// Returns the milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    ms_of(SystemTime::now())
}

/// Returns a time in milliseconds since 1970.
pub(crate) fn ms_of(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since_1970.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_when_its_time_comes_or_the_clock_is_set_back() {
        let until_ms = 10 * LONGEST_PAUSE_MS;
        for (now_ms, expected) in [
            (until_ms - LONGEST_PAUSE_MS - 1, false),
            (until_ms - LONGEST_PAUSE_MS, true),
            (until_ms - 1, true),
            (until_ms, false),
        ] {
            assert_eq!(is_paused(until_ms, now_ms), expected, "{now_ms}");
        }
    }
}
