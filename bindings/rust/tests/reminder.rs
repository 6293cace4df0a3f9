use voice_calling::{Client, CreateRetry, DocketRequestV2};
use voice_calling_mock::{Endpoint, Fault, MockService, Options};

#[tokio::test]
async fn a_reminder_rings_once() {
    let refused = (Fault::rate_limited(None), false); // 429: sent again
    let lost = (Fault::created_then(503), true); // the phone rings, and the outcome is unknown
    for (fault, is_unknown) in [refused, lost] {
        let service = MockService::start(Options::default()).await.unwrap();
        service.on_next(Endpoint::CreateDocketV2, fault);
        let client = Client::builder()
            .base_url(service.base_url())
            .api_token(service.token())
            .create_retry(CreateRetry::NotSent)
            .build()
            .unwrap();
        let request = DocketRequestV2::new(7, "910000000000");
        let created = client.create_docket_v2(&request).await; // in place of your own function
        assert_eq!(created.is_err_and(|it| it.may_have_created()), is_unknown);
        assert_eq!(service.phones_rung(), ["910000000000"]);
    }
}
