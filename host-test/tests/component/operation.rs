//! Calling operations of the component.

use std::time::Duration;
use voice_calling_check::operation::{Arguments, Returned};
use voice_calling_host::Instance;
use voice_calling_host::types::{CallOptions, RequestError};
use voice_calling_mock::Endpoint;

pub use voice_calling_check::operation::{
    Answered, DOCKET_ID, Operation, SATISFYING, agent, call, docket, docket_v2, wait,
};

/// Running an operation for what its result has in common with all others.
pub trait Run {
    /// Calls the function. What it returns is for the tests of that function; of a
    /// batch of one, the error is that one's.
    async fn run(self, instance: &mut Instance) -> Result<Answered, RequestError>;

    /// The same with options.
    async fn run_with(
        self,
        instance: &mut Instance,
        options: CallOptions,
    ) -> Result<Answered, RequestError>;

    /// The same with so much time, where the function takes a time.
    async fn run_within(
        self,
        instance: &mut Instance,
        timeout_ms: u32,
    ) -> Result<Answered, RequestError>;

    /// The endpoint that it calls.
    fn endpoint(self) -> Endpoint;
}

impl Run for Operation {
    async fn run(self, instance: &mut Instance) -> Result<Answered, RequestError> {
        self.run_within(instance, 60_000).await
    }

    async fn run_within(
        self,
        instance: &mut Instance,
        timeout_ms: u32,
    ) -> Result<Answered, RequestError> {
        let arguments = Arguments {
            timeout_ms,
            // So that a wait ends where the service knows nothing of what it waits for.
            not_found_is_pending: Some(false),
            ..Arguments::default()
        };
        lone(self.call(instance, arguments, None)).await
    }

    async fn run_with(
        self,
        instance: &mut Instance,
        options: CallOptions,
    ) -> Result<Answered, RequestError> {
        lone(self.call(instance, Arguments::default(), Some(options))).await
    }

    fn endpoint(self) -> Endpoint {
        match self {
            Operation::CreateAgent => Endpoint::CreateAgent,
            Operation::ListAgents => Endpoint::ListAgents,
            Operation::MakeCall => Endpoint::MakeCall,
            Operation::GetCallDetails | Operation::WaitForCallDetails => Endpoint::GetCallDetails,
            Operation::CreateDocket => Endpoint::CreateDocket,
            Operation::CreateDocketV2 | Operation::CreateDocketsV2 => Endpoint::CreateDocketV2,
            Operation::GetDocket | Operation::WaitForDocket | Operation::VerifyDocketCompleted => {
                Endpoint::GetDocket
            }
        }
    }
}

/// What a function returned. Neither may the host fail, nor may it take for ever: a
/// quarter of an hour is longer than any test, even in virtual time.
pub async fn returned<T>(
    call: impl Future<Output = anyhow::Result<Result<T, RequestError>>>,
) -> Result<T, RequestError> {
    within_reason(call).await
}

/// The only result.
async fn lone(
    call: impl Future<Output = anyhow::Result<Vec<Returned>>>,
) -> Result<Answered, RequestError> {
    let mut results = within_reason(call).await;
    assert_eq!(results.len(), 1);
    results.remove(0)
}

/// No option is given.
pub const NO_OPTIONS: CallOptions = CallOptions {
    account: None,
    deadline_ms: None,
    max_attempts: None,
};

async fn within_reason<T>(call: impl Future<Output = anyhow::Result<T>>) -> T {
    let returned = tokio::time::timeout(Duration::from_secs(900), call).await;
    returned
        .expect("an end within a quarter of an hour")
        .expect("no failure of the host")
}
