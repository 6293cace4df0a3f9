//! Calling operations of the component.

use host_test::Instance;
use host_test::operation::Arguments;
use host_test::types::RequestError;
use std::time::Duration;

pub use host_test::operation::{
    DOCKET_ID, Operation, SATISFYING, agent, call, docket, docket_v2, wait,
};

/// Running an operation for what its result has in common with all others.
pub trait Run {
    /// Calls the function. What it returns is for the tests of that function; of a
    /// batch of one, the error is that one's.
    async fn run(self, instance: &mut Instance) -> Result<(), RequestError>;

    /// The same with so much time, where the function takes a time.
    async fn run_within(self, instance: &mut Instance, timeout_ms: u32)
    -> Result<(), RequestError>;
}

impl Run for Operation {
    async fn run(self, instance: &mut Instance) -> Result<(), RequestError> {
        self.run_within(instance, 60_000).await
    }

    async fn run_within(
        self,
        instance: &mut Instance,
        timeout_ms: u32,
    ) -> Result<(), RequestError> {
        let arguments = Arguments {
            timeout_ms,
            items: 1,
        };
        let items = within_reason(self.call(instance, arguments)).await;
        items.into_iter().collect::<Result<Vec<_>, _>>().map(drop)
    }
}

/// What a function returned. Neither may the host fail, nor may it take for ever: a
/// quarter of an hour is longer than any test, even in virtual time.
pub async fn returned<T>(
    call: impl Future<Output = anyhow::Result<Result<T, RequestError>>>,
) -> Result<T, RequestError> {
    within_reason(call).await
}

async fn within_reason<T>(call: impl Future<Output = anyhow::Result<T>>) -> T {
    let returned = tokio::time::timeout(Duration::from_secs(900), call).await;
    returned
        .expect("an end within a quarter of an hour")
        .expect("no failure of the host")
}
