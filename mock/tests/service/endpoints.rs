//! The answers of each endpoint.

use super::*;
use voice_calling_mock::{CallStatus, Endpoint, RepeatedExternalId};

#[tokio::test]
async fn each_creation_answers_as_its_version_has_it() {
    let (_mock, client) = with(|_| ()).await;
    let v1 = client.post(V1, &docket_body()).await;
    let id = v1.id("docket_id");
    assert_eq!(v1.status, 200);
    assert_eq!(v1.headers["content-type"], "application/json");
    assert_eq!(v1.json(), json!({"docket_id": id, "status": "IN_PROGRESS"}));
    assert_eq!(client.fetch(&id).await["status"], "IN_PROGRESS");
    assert!(client.fetch(&id).await["external_id"].is_null());

    let v2 = client.post(V2, &docket_body()).await;
    let id = v2.id("docket_id");
    let expected = json!({"docket_id": id, "status": "OPEN", "created": true});
    assert_eq!((v2.status, v2.json()), (200, expected));
    assert_eq!(client.fetch(&id).await["external_id"], "crm-1");
}

#[tokio::test]
async fn a_docket_has_17_fields_that_follow_its_calls() {
    let (mock, client) = with(|_| ()).await;
    let id = client.docket(&docket_body()).await;
    let mut open = client.fetch(&id).await;
    let created_at = open["created_at"].take();
    assert!(is_timestamp(&created_at));
    assert_eq!(open["updated_at"].take(), created_at);
    let expected = json!({
        "docket_id": id, "agent_name": "renewals", "status": "OPEN", "call_type": "OUTBOUND",
        "from_number": "911140000007", "to_phone_number": NUMBER,
        "call_context": {"name": "Asha"}, "external_id": "crm-1", "closed_call_id": null,
        "latest_call_id": null, "closure_reason": null, "outbound_call_count": 0,
        "notification_status": null, "first_called_at": null, "closed_at": null,
        "created_at": null, "updated_at": null,
    });
    assert_eq!(open, expected);

    assert_eq!(mock.place_next_call(&id).unwrap(), CallStatus::NoAnswer);
    let called = client.fetch(&id).await;
    assert_eq!(called["status"], "IN_PROGRESS");
    assert_eq!(called["outbound_call_count"], 1);
    assert!(is_timestamp(&called["first_called_at"]));
    assert!(called["closed_at"].is_null() && called["closed_call_id"].is_null());

    assert_eq!(mock.place_next_call(&id).unwrap(), CallStatus::Answered);
    let closed = client.fetch(&id).await;
    assert_eq!(fields(&closed), 17);
    assert_eq!(closed["status"], "COMPLETED");
    assert_eq!(closed["closure_reason"], "DISPOSITION");
    assert_eq!(closed["notification_status"], "SKIPPED");
    assert_eq!(closed["outbound_call_count"], 2);
    assert_eq!(closed["closed_call_id"], closed["latest_call_id"]);
    assert_ne!(closed["latest_call_id"], called["latest_call_id"]);
    assert_eq!(closed["first_called_at"], called["first_called_at"]);
    assert_eq!(closed["updated_at"], closed["closed_at"]);
    assert!(is_timestamp(&closed["closed_at"]));
    assert!(mock.place_next_call(&id).is_err());
}

#[tokio::test]
async fn a_call_has_details_once_it_is_over() {
    let (mock, client) = with(|_| ()).await;
    let task_id = client.call().await;
    assert_eq!(client.details(&task_id).await.status, 404);
    assert_eq!(
        mock.place_next_call(&task_id).unwrap(),
        CallStatus::Answered
    );
    assert!(mock.place_next_call(&task_id).is_err());

    let details = client.details(&task_id).await;
    let unharmed = r#""policy_number":12345678901234567890,"amount_due":0.10"#;
    assert!(details.text().contains(unharmed));
    let mut record = details.json()[0].take();
    let metadata = record["call_insights"]["metadata"].take();
    assert_eq!(metadata["language"], "en");
    let expected = json!({
        "agent_name": "renewals", "call_context": {},
        "call_insights": {
            "metadata": null,
            "user_interest": {"status": "INTERESTED", "confidence_score": 0.87,
                "reasoning": "Asked for the renewal link"},
            "next_action": {"value": "SEND_LINK", "reason": "The customer wants to renew"},
        },
        "call_recording_url": format!("https://recordings.voice.example/{task_id}.mp3"),
        "from_number": "911140000007", "to_number": NUMBER,
        "call_status": "ANSWERED", "call_duration": 42.5,
    });
    assert_eq!(record, expected);
}

#[tokio::test]
async fn agents_are_listed_for_their_organization_and_a_created_one_can_call() {
    let (_mock, client) = with(|_| ()).await;
    let list = "/api/v1/agents?organizationId=org%2D1";
    let mut agents = json!([{"agent_id": 7, "agent_name": "renewals"},
        {"agent_id": 8, "agent_name": "collections"}]);
    assert_eq!(client.get(list).await.json(), agents);
    let other = client.get("/api/v1/agents?organizationId=org-2").await;
    assert_eq!(other.status, 404);
    let none = client.get("/api/v1/agents").await;
    assert_eq!(none.status, 422);
    assert!(problem(&none).contains("organizationId"), "{}", none.text());

    let agent = json!({
        "agent_name": "surveys", "agent_phone_number": "+91 11 4000 0009", "call_type": "SURVEY",
    });
    let created = client.post("/agents/", &agent.to_string()).await;
    assert_eq!(created.status, 200);
    assert_eq!(created.json(), json!({"agent_id": 9}));
    let created = json!({"agent_id": 9, "agent_name": "surveys"});
    agents.as_array_mut().unwrap().push(created);
    assert_eq!(client.get(list).await.json(), agents);
    let id = client.docket(&docket_body().replace(":7", ":9")).await;
    let docket = client.fetch(&id).await;
    assert_eq!(docket["agent_name"], "surveys");
    assert_eq!(docket["from_number"], "911140000009");
    assert_eq!(docket["call_type"], "SURVEY");
}

#[tokio::test]
async fn nothing_repeated_is_recognised_unless_it_is_set() {
    let (mock, client) = with(|_| ()).await;
    let first = client.docket(&docket_body()).await;
    assert_ne!(client.docket(&docket_body()).await, first);
    assert_eq!(mock.times_rung(NUMBER), 2);

    let same = RepeatedExternalId::SameDocket;
    let (mock, client) = with(|options| options.repeated_external_id = same).await;
    let first = client.docket(&docket_body()).await;
    let again = client.post(V2, &docket_body()).await.json();
    let expected = json!({"docket_id": first, "status": "OPEN", "created": false});
    assert_eq!(again, expected);
    client.post(V1, &docket_body()).await;
    assert_eq!(mock.times_rung(NUMBER), 2, "version 1 has no external id");
}

#[tokio::test]
async fn a_missing_or_wrong_token_is_refused_everywhere_and_starts_nothing() {
    let (mock, client) = with(|_| ()).await;
    let (bare, right) = (mock.token(), format!("Bearer {}", mock.token()));
    let wrong = format!("Basic {bare}");
    for head in [
        "POST /agents/",
        "POST /make_call",
        "GET /call_details/x",
        "POST /api/v1/dockets",
        "POST /api/v2/dockets",
        "GET /api/v1/dockets/x",
        "GET /api/v1/agents",
    ] {
        for headers in [
            &[][..],
            &[("auth_token", &*wrong)],
            &[("auth_token", &*bare)],
            &[("authorization", &*right)],
            &[("auth_token", &*right), ("auth_token", &*wrong)],
        ] {
            let reply = client.send(head, headers, "").await;
            assert_eq!(reply.status, 401, "{head} {headers:?}");
            let detail = json!({"detail": "Invalid or missing auth_token"});
            assert_eq!(reply.json(), detail);
        }
    }
    assert!(mock.phones_rung().is_empty());
}

/// Path, body, and expected problem.
const WRONG_BODIES: &str = r#"
    /api/v1/dockets | {} | body: missing field `agent_id`
    /api/v2/dockets | [] | body: invalid length
    /api/v2/dockets |    | body: EOF
    /api/v2/dockets | {  | body: EOF
    /make_call      | {} | body: missing field `from_agent_name`
    /make_call      | {"from_agent_name":"renewals"} | body: missing field `to_phone_number`
    /make_call      | {"from_agent_name":"renewals","to_phone_number":""} | body.to_phone_number: the string is empty
    /make_call      | {"from_agent_name":"renewals","to_phone_number":"9","extra_config":{"call_context":{"n":1}}} | body.extra_config.call_context: "n" is not a string
    /agents/        | {} | body: missing field `agent_name`
    /agents/        | {"agent_name":""} | body.agent_name: the string is empty
"#;

/// A part of the body of a docket, its replacement, and the expected problem.
const WRONG_DOCKETS: &str = r#"
    :7                | :"7"          | body.agent_id: invalid type
    "crm-1"           | 5             | body.external_id: invalid type
    extra_config      | x             | body: missing field `extra_config`
    call_context      | x             | body.extra_config: missing field `call_context`
    {"name":"Asha"}   | []            | body.extra_config.call_context: expected a JSON object
    {"name":"Asha"}   | null          | body.extra_config.call_context: expected a JSON object
    {"name":"Asha"}   | NaN           | body: expected value
    to_phone_number   | x             | body: missing field `to_phone_number`
    919876543210      |               | body.to_phone_number: expected 12 digits
    919876543210      | 91987654321   | body.to_phone_number: expected 12 digits
    919876543210      | 9198765432101 | body.to_phone_number: expected 12 digits
    919876543210      | +91987654321  | body.to_phone_number: expected 12 digits
    919876543210      | ٩١٩٨٧٦        | body.to_phone_number: expected 12 digits
"#;

fn problem(reply: &Reply) -> String {
    let detail = reply.json()["detail"].take();
    detail.as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn wrong_bodies_are_refused_field_by_field_and_start_nothing() {
    let (mock, client) = with(|_| ()).await;
    let of_docket = |[part, wrong, expected]: [&'static str; 3]| {
        (V2, docket_body().replace(part, wrong), expected)
    };
    let cases = rows(WRONG_BODIES)
        .map(|[path, body, expected]| (path, body.to_owned(), expected))
        .chain(rows(WRONG_DOCKETS).map(of_docket));
    for (path, body, expected) in cases {
        let reply = client.post(path, &body).await;
        assert_eq!(reply.status, 422, "{path} {body}");
        assert!(problem(&reply).starts_with(expected), "{}", reply.text());
    }
    let create = "POST /api/v2/dockets";
    let token = ("auth_token", &*client.token);
    for headers in [&[token][..], &[token, ("content-type", "text/plain")]] {
        let reply = client.send(create, headers, &docket_body()).await;
        assert!(problem(&reply).contains("content-type"), "{}", reply.text());
    }
    assert!(mock.phones_rung().is_empty());
    let json = ("content-type", "application/json; charset=utf-8");
    let reply = client.send(create, &[token, json], &docket_body()).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn unknown_things_are_not_found() {
    let (mock, client) = with(|_| ()).await;
    for path in [
        "/api/v1/dockets/00000000-0000-4000-8000-000000000000",
        "/api/v1/dockets/nonsense",
        "/call_details/00000000-0000-4000-8000-000000000000",
        "/call_details/a%2Fb",
        "/call_details/a/b",
        "/call_details/",
        "/",
        "/agents",
        "/make_call",
    ] {
        let reply = client.get(path).await;
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.json()["detail"].is_string());
    }
    assert_eq!(mock.requests()[0].endpoint, Some(Endpoint::GetDocket));
    assert_eq!(mock.requests()[8].endpoint, None);
    let body = docket_body().replace(":7", ":1");
    let no_agent = client.post(V1, &body).await;
    assert_eq!(no_agent.json(), json!({"detail": "Agent not found"}));
    let body = call_body().replace("renewals", "unknown");
    assert_eq!(client.post(MAKE_CALL, &body).await.status, 404);
    assert!(mock.phones_rung().is_empty());
}

#[tokio::test]
async fn each_token_is_of_an_organization_that_sees_only_its_own() {
    let tokens = vec!["first-token".to_owned(), "second-token".to_owned()];
    let same = RepeatedExternalId::SameDocket;
    let (mock, mut client) = with(|options| {
        options.tokens = tokens;
        options.repeated_external_id = same;
        assert!(!format!("{options:?}").contains("first-token"));
    })
    .await;
    let (docket, call) = (client.docket(&docket_body()).await, client.call().await);
    mock.place_next_call(&call).unwrap();
    assert_eq!(client.details(&call).await.status, 200);
    client.token = "Bearer second-token".to_owned();
    assert_eq!(client.get(&format!("{V1}/{docket}")).await.status, 404);
    assert_eq!(client.details(&call).await.status, 404);
    assert_ne!(client.docket(&docket_body()).await, docket);
    for (organization, status) in [("org-1", 404), ("org-2", 200)] {
        let path = format!("/api/v1/agents?organizationId={organization}");
        assert_eq!(client.get(&path).await.status, status);
    }
}

#[tokio::test]
async fn a_token_that_exceeds_its_rate_is_told_when_to_come_back_and_starts_nothing() {
    let limit = "2/7200".parse().unwrap();
    let (mock, client) = with(|options| options.rate_limit = Some(limit)).await;
    for _ in 0..2 {
        client.docket(&docket_body()).await;
    }
    let limited = client.post(V2, &docket_body()).await;
    assert_eq!(limited.status, 429);
    // Some time has passed since the first one.
    let retry_after_s = limited.headers["retry-after"].to_str().unwrap();
    assert!((3_500..=3_600).contains(&retry_after_s.parse().unwrap()));
    assert_eq!(mock.times_rung(NUMBER), 2);
    mock.advance(Duration::from_secs(3_600)).unwrap();
    client.docket(&docket_body()).await;
    assert_eq!(client.post(V2, &docket_body()).await.status, 429);
}
