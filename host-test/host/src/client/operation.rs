//! An operation in progress, and who gets its result.

use super::bindings::{Answer, ExchangeId};
use super::exchange::Exchange;
use crate::calls::batch::{BatchResult, DocketResult};
use crate::guest::in_flight::InFlight;
use crate::load::plugin::types::{Failure, RequestError};
use anyhow::anyhow;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// What came of an operation.
pub(super) type Outcome = Result<Answer, RequestError>;

/// What the reader of a batch gets: that it has begun, each result, and the end.
pub(super) enum OfBatch {
    Begun,
    Result(BatchResult),
    Ended(anyhow::Result<Result<(), RequestError>>),
}

/// Who gets the result of an operation.
pub(super) enum Teller {
    Lone(oneshot::Sender<anyhow::Result<Outcome>>),
    Batch {
        reader: mpsc::UnboundedSender<OfBatch>,
        /// Of which requests the result has been reported.
        is_told: Vec<bool>,
    },
}

/// An operation under way.
pub(super) struct Operation {
    pub(super) call: Arc<InFlight>,
    pub(super) trusts_connection_timeout: bool,
    teller: Teller,
    /// The exchanges, and for which requests of a batch, that may have created what has not been
    /// reported.
    creates: Vec<(ExchangeId, Option<u32>)>,
}

impl Operation {
    pub(super) fn new(
        call: Arc<InFlight>,
        teller: Teller,
        trusts_connection_timeout: bool,
    ) -> Self {
        Self {
            call,
            trusts_connection_timeout,
            teller,
            creates: Vec::new(),
        }
    }

    /// One of its requests is on its way.
    pub(super) fn sends(&mut self, exchange: &Exchange) {
        if exchange.creates {
            self.creates.push((exchange.id, exchange.item));
        }
    }

    /// Its requests that may have created what has not been reported.
    pub(super) fn creates(&self) -> impl Iterator<Item = ExchangeId> {
        self.creates.iter().map(|(exchange, _)| *exchange)
    }

    /// One of its requests certainly created nothing.
    pub(super) fn did_not_create(&mut self, exchange: ExchangeId) {
        self.creates.retain(|(create, _)| *create != exchange);
    }

    /// The guest has taken it in, and it goes on.
    pub(super) fn has_begun(&self) {
        if let Teller::Batch { reader, .. } = &self.teller {
            let _nobody_reads = reader.send(OfBatch::Begun);
        }
    }

    /// A result of a batch is known.
    pub(super) fn tell_item(&mut self, index: u32, outcome: DocketResult) {
        self.creates.retain(|(_, item)| *item != Some(index));
        if let Teller::Batch { reader, is_told } = &mut self.teller {
            if let Some(is_told) = is_told.get_mut(index as usize) {
                *is_told = true;
            }
            let result = OfBatch::Result(BatchResult { index, outcome });
            if let Err(unread) = reader.send(result) {
                unread.0.log(&self.call);
            }
        }
    }

    /// It has ended.
    pub(super) fn tell(self, outcome: Outcome) {
        match self.teller {
            Teller::Lone(caller) => {
                if let Err(Ok(unheard)) = caller.send(Ok(outcome)) {
                    log_created(&unheard, &self.call);
                }
            }
            Teller::Batch { reader, .. } => {
                let _nobody_reads = reader.send(OfBatch::Ended(Ok(outcome.map(drop))));
            }
        }
    }

    /// It has ended with the instance. If it may have created something, that is an answer and no
    /// error of the host: the caller has to know.
    pub(super) fn lose(self, reason: &str) {
        let lost = || anyhow!("the instance has ended, and all its calls with it: {reason}");
        match self.teller {
            Teller::Lone(caller) => {
                let told = match self.creates.is_empty() {
                    true => Err(lost()),
                    false => Ok(Err(unknown(reason))),
                };
                let _nobody_waits = caller.send(told);
            }
            Teller::Batch { reader, is_told } => {
                if self.creates.is_empty() && !is_told.contains(&true) {
                    let _nobody_reads = reader.send(OfBatch::Ended(Err(lost())));
                    return;
                }
                let untold = (0_u32..).zip(is_told).filter(|(_, is_told)| !is_told);
                for (index, _) in untold {
                    let is_begun = self.creates.iter().any(|(_, item)| *item == Some(index));
                    let outcome = Err(match is_begun {
                        true => unknown(reason),
                        false => RequestError::ExecutionFailed,
                    });
                    let _nobody_reads =
                        reader.send(OfBatch::Result(BatchResult { index, outcome }));
                }
                let _nobody_reads = reader.send(OfBatch::Ended(Ok(Ok(()))));
            }
        }
    }

    /// It has not begun.
    pub(super) fn fail(self, error: anyhow::Error) {
        match self.teller {
            Teller::Lone(caller) => {
                let _nobody_waits = caller.send(Err(error));
            }
            Teller::Batch { reader, .. } => {
                let _nobody_reads = reader.send(OfBatch::Ended(Err(error)));
            }
        }
    }
}

/// An id that nobody hears is in the log.
pub(super) fn log_created(unheard: &Outcome, call: &InFlight) {
    match unheard {
        Ok(Answer::CreateAgent(agent)) => {
            let id = agent.agent_id.map(|id| id.to_string());
            call.tell_created(&id.unwrap_or_default());
        }
        Ok(Answer::MakeCall(started)) => call.tell_created(&started.task_id),
        Ok(Answer::CreateDocket(docket)) => call.tell_created(&docket.docket_id),
        Ok(Answer::CreateDocketV2(docket)) => call.tell_created(&docket.docket_id),
        // The line that counts the creates of a dropped call stands for what may exist.
        Ok(_) | Err(_) => {}
    }
}

impl OfBatch {
    /// The same of a result that nobody reads.
    pub(super) fn log(&self, call: &InFlight) {
        if let OfBatch::Result(result) = self
            && let Ok(created) = &result.outcome
        {
            call.tell_created(&created.docket_id);
        }
    }
}

/// What is known of a create that was under way when the instance ended.
fn unknown(reason: &str) -> RequestError {
    RequestError::PermanentOutcomeUnknown(Failure {
        message: format!(
            "the create may have been processed: the instance of the component has ended: \
             {reason}"
        ),
        problem: None,
        response: None,
        attempts: Vec::new(),
        may_have_created: true,
    })
}
