//! Creates that are carried out once.

use crate::batch::Batch;
use crate::client::{Client, run};
use crate::error::Error;
use crate::ledger::Keys;
use std::time::Duration;
use tracing::info_span;
use voice_calling_core as core;
use voice_calling_core::ledger::Recorded;
use voice_calling_core::types::{
    AgentConfig, CallRequest, CreatedAgent, CreatedDocket, CreatedDocketV2, DocketRequest,
    DocketRequestV2, RequestError, StartedCall,
};

/// The creates of a client with a key in its [`Ledger`](crate::Ledger): see [`Client::once`].
#[derive(Clone, Copy)]
pub struct Once<'a> {
    client: &'a Client,
    key: &'a str,
}

impl Client {
    /// Returns the creates with this key in the client's [`Ledger`](crate::Ledger). A create with a
    /// key that has succeeded returns the recorded answer, and sends nothing. One that may have
    /// been carried out is not sent again, whatever `CREATE_RETRY` says, until it is
    /// [resolved or released](crate::Ledger::resolve).
    ///
    /// # Errors
    /// Beside its own errors, each create returns these, and has sent nothing then:
    /// - `PermanentConfiguration` if the ledger cannot be used. [`Error::problem`] is about `ledger`.
    /// - `PermanentInvalidInput` if the client has no ledger, or the key is of another request, is
    ///   empty, or contains a control character. [`Error::problem`] is about `once`.
    /// - `PermanentOutcomeUnknown` if a create with the key may have been carried out. If that one
    ///   is still in progress, [`Error::problem`] is about `once`; otherwise there is none.
    ///
    /// If the future of a create is dropped after its request may have been sent, the outcome is
    /// unknown.
    pub fn once<'a>(&'a self, key: &'a str) -> Once<'a> {
        Once { client: self, key }
    }

    /// Creates dockets like [`create_dockets_v2`](Self::create_dockets_v2), each with its key if it
    /// has one. The results say whether they come from the ledger.
    ///
    /// # Errors
    /// Returns an error if the batch as a whole is not allowed, or the client has no ledger:
    /// nothing was sent.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn create_dockets_v2_once<K: Into<Option<String>>>(
        &self,
        requests: impl IntoIterator<Item = (K, DocketRequestV2), IntoIter: Send + 'static>,
        timeout: Duration,
    ) -> Result<Batch<Recorded<CreatedDocketV2>>, Error> {
        let ledger = self.ledger.clone().ok_or_else(no_ledger)?;
        let requests = requests.into_iter();
        let requests = requests.map(|(key, request)| (key.into(), request));
        let timeout_ms = timeout.as_millis().try_into().unwrap_or(u32::MAX);
        let core = self.core.clone();
        Batch::begin_once(core, ledger, requests, timeout_ms, self.options())
    }
}

impl Once<'_> {
    /// Creates an agent like [`Client::create_agent`].
    pub async fn create_agent(
        &self,
        config: &AgentConfig,
    ) -> Result<Recorded<CreatedAgent>, Error> {
        let span = info_span!("create_agent");
        let (core, options) = (&self.client.core, self.client.options());
        let future = core.create_agent_once(config, options, Some(self.in_ledger()?));
        run(span, future).await
    }

    /// Starts a call like [`Client::make_call`].
    pub async fn make_call(&self, request: &CallRequest) -> Result<Recorded<StartedCall>, Error> {
        let span = info_span!("make_call");
        let (core, options) = (&self.client.core, self.client.options());
        let future = core.make_call_once(request, options, Some(self.in_ledger()?));
        run(span, future).await
    }

    /// Creates a docket like [`Client::create_docket`].
    pub async fn create_docket(
        &self,
        request: &DocketRequest,
    ) -> Result<Recorded<CreatedDocket>, Error> {
        let span = info_span!("create_docket");
        let (core, options) = (&self.client.core, self.client.options());
        let future = core.create_docket_once(request, options, Some(self.in_ledger()?));
        run(span, future).await
    }

    /// Creates a docket like [`Client::create_docket_v2`].
    pub async fn create_docket_v2(
        &self,
        request: &DocketRequestV2,
    ) -> Result<Recorded<CreatedDocketV2>, Error> {
        let span = info_span!("create_docket_v2", external_id = request.external_id);
        let (core, options) = (&self.client.core, self.client.options());
        let future = core.create_docket_v2_once(request, options, Some(self.in_ledger()?));
        run(span, future).await
    }

    fn in_ledger(&self) -> Result<core::ledger::Once<'_, Keys>, Error> {
        let ledger = self.client.ledger.as_ref().ok_or_else(no_ledger)?;
        Ok(core::ledger::Once {
            ledger,
            key: self.key,
        })
    }
}

fn no_ledger() -> Error {
    let allowed = "a client that was built with a ledger: nothing was sent";
    RequestError::from(core::problem("once", "a client without a ledger", allowed)).into()
}
