//! Waiting for dockets to be completed.

use crate::call::advice;
use crate::list::List;
use crate::outcome::Kind;
use crate::results::{self, Completions, Results};
use crate::say;
use crate::stop::Stop;
use anyhow::Result;
use futures_util::StreamExt;
use futures_util::stream::iter;
use std::time::Duration;
use tokio::time::sleep;
use voice_calling::{Client, NextStep};

/// The number of dockets that are fetched at once.
const FETCHED_AT_ONCE: usize = 16;

/// Fetches the dockets that are not completed. Returns how many still are not.
pub(crate) async fn fetch<'a>(
    client: &Client,
    ids: impl Iterator<Item = &'a str>,
    completions: &mut Completions,
) -> Result<usize> {
    let is_open = |id: &&str| !completions.get(*id).is_some_and(results::is_completed);
    let open: Vec<_> = ids.filter(is_open).collect();
    let mut left = open.len();
    let fetched = open
        .into_iter()
        .map(|id| async move { (id, client.get_docket(id).await) });
    let mut fetched = iter(fetched).buffer_unordered(FETCHED_AT_ONCE);
    let mut failed = 0;
    while let Some((id, result)) = fetched.next().await {
        match result {
            Ok(docket) => {
                let completion = completions.entry(id.into()).or_default();
                results::apply_docket(completion, &docket);
                left -= usize::from(results::is_completed(completion));
            }
            Err(error) if error.next_step() == NextStep::FixSetting => return Err(error.into()),
            Err(error) => {
                failed += 1;
                if failed == 1 {
                    say(format_args!("docket {id} could not be fetched: {error}"));
                }
            }
        }
    }
    Ok(left)
}

/// Waits until the dockets of all rows that were called are completed, and keeps the results up to
/// date. Returns why it ended before, if it did.
pub(crate) async fn wait(
    list: &List,
    client: &Client,
    results: &mut Results,
    every: Duration,
    has_webhook: bool,
    stop: &Stop,
) -> Result<Option<String>> {
    let called = list
        .rows
        .iter()
        .filter_map(|row| row.outcome.docket_id.as_deref());
    let called: Vec<_> = called.collect();
    let in_doubt = list.counts().get(Kind::Unknown);
    let mut is_last = !has_webhook;
    loop {
        let fetched = fetch(client, called.iter().copied(), &mut results.completions);
        let left = tokio::select! {
            biased;
            () = stop.asked() => Err("not all dockets are completed. `voice-calling results` \
                fetches them later".to_owned()),
            left = fetched => left.map_err(|error| {
                format!("{error}. {}", advice(NextStep::FixSetting))
            }),
        };
        results.write(list)?;
        let left = match left {
            Ok(left) => left,
            Err(reason) => return Ok(Some(reason)),
        };
        let (completed, called) = (called.len() - left, called.len());
        say(format_args!(
            "{completed} of {called} dockets are completed, {in_doubt} unknown"
        ));
        if left == 0 && is_last {
            return Ok(None);
        }
        // The deliveries of the last ones may still come.
        is_last |= left == 0;
        // Another look finds what has asked to stop.
        tokio::select! {
            () = stop.asked() => {}
            () = sleep(every) => {}
        }
    }
}
