//! The test of a function of one's own, on a scripted service.

use std::time::Duration;
use voice_calling::testing::{Answer, ScriptedService};
use voice_calling::{Client, DocketOutcome, DocketRequestV2, Error, Wait};

/// The function: calls a person, and returns whether that was completed within two hours.
async fn remind(client: &Client, to_phone_number: &str) -> Result<bool, Error> {
    let request = DocketRequestV2::new(7, to_phone_number);
    let docket = client.create_docket_v2(&request).await?;
    let wait = Wait::within(Duration::from_secs(7200));
    let ended = client.wait_for_docket(&docket.docket_id, wait).await?;
    Ok(matches!(ended.outcome, DocketOutcome::Completed(_)))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    // The service refuses the create once, and the docket is completed after an hour.
    let service = ScriptedService::new();
    service.answer(Answer::status(429).header("retry-after", "20"));
    service.complete_after(Duration::from_secs(3600));
    assert!(remind(&service.client(), "910000000000").await?);
    assert!(service.elapsed() >= Duration::from_secs(3620));

    // The create is sent, and its answer is lost.
    let service = ScriptedService::new();
    service.answer_to("POST /api/v2/dockets", Answer::lost());
    let error = remind(&service.client(), "910000000000").await.unwrap_err();
    assert!(error.may_have_created());
    assert_eq!(service.requests().len(), 1);
    println!("{error}");
    Ok(())
}
