//! The mock service: what it answers, what it makes ring, and what it reports.

mod telephone;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::task::yield_now;
use voice_calling_mock::{
    AgentFields, Behaviour, CallStatus, CreatedAgent, DetailsNotReady, DetailsShape, DocketCalls,
    Endpoint, Fault, FaultOrder, MockService, NeverAnswered, NotificationKind, NotificationOrder,
    OpenDocketFields, Options, Pace, RawPeer, RepeatedExternalId, Scripts, UnansweredInsights,
    Unauthorized, UnknownTask, V2Status, ValidationBody, WebhookOptions, closed_port,
};

const NUMBER: &str = "919876543210";
const CONTEXT: &str = r#"{"name":"Asha"}"#;
const V1: &str = "/api/v1/dockets";
const V2: &str = "/api/v2/dockets";
const MAKE_CALL: &str = "/make_call";

/// What is over at once, or has failed: a hang fails too.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, what).await.expect("no hang")
}

/// Asks again until the answer is yes.
async fn until(condition: impl AsyncFn() -> bool) {
    let asking = async {
        while !condition().await {
            yield_now().await;
        }
    };
    soon(asking).await;
}

/// A client that sends what it is given.
struct Client {
    http: HttpClient<HttpConnector, Full<Bytes>>,
    base_url: String,
    token: String,
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn id(&self, name: &str) -> String {
        self.json()[name].as_str().expect(name).to_owned()
    }
}

impl Client {
    async fn send(&self, head: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let (method, path) = head.split_once(' ').expect("METHOD /path");
        let uri = format!("{}{path}", self.base_url);
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.to_owned())).expect("request");
        let reply = soon(self.http.request(request)).await;
        let reply = reply.expect("an answer");
        Reply {
            status: reply.status().as_u16(),
            headers: reply.headers().clone(),
            body: reply.into_body().collect().await.expect("body").to_bytes(),
        }
    }

    async fn get(&self, path: &str) -> Reply {
        let headers = [("auth_token", &*self.token)];
        self.send(&format!("GET {path}"), &headers, "").await
    }

    async fn post(&self, path: &str, body: &str) -> Reply {
        let json = ("content-type", "application/json");
        let headers = [("auth_token", &*self.token), json];
        self.send(&format!("POST {path}"), &headers, body).await
    }

    async fn docket(&self, body: &str) -> String {
        self.post(V2, body).await.id("docket_id")
    }

    async fn fetch(&self, docket_id: &str) -> Value {
        self.get(&format!("{V1}/{docket_id}")).await.json()
    }

    async fn call(&self) -> String {
        self.post(MAKE_CALL, &call_body()).await.id("task_id")
    }

    async fn details(&self, task_id: &str) -> Reply {
        self.get(&format!("/call_details/{task_id}")).await
    }
}

async fn started(options: Options) -> (MockService, Client) {
    let mock = MockService::start(options).await.expect("a mock");
    let client = Client {
        http: HttpClient::builder(TokioExecutor::new()).build_http(),
        base_url: mock.base_url(),
        token: format!("Bearer {}", mock.token()),
    };
    (mock, client)
}

/// A mock whose options are the default ones but for a change.
async fn with(change: impl FnOnce(&mut Options)) -> (MockService, Client) {
    let mut options = Options::default();
    change(&mut options);
    started(options).await
}

fn docket_body() -> String {
    let number_and_id = format!(r#""to_phone_number":"{NUMBER}","external_id":"crm-1""#);
    let extra_config = format!(r#"{{"call_context":{CONTEXT}}}"#);
    format!(r#"{{"agent_id":7,{number_and_id},"extra_config":{extra_config}}}"#)
}

fn call_body() -> String {
    format!(r#"{{"from_agent_name":"renewals","to_phone_number":"{NUMBER}"}}"#)
}

fn call_body_with(context: &str) -> String {
    let rest = &call_body()[1..];
    format!(r#"{{"extra_config":{{"call_context":{context}}},{rest}"#)
}

fn agent() -> Value {
    json!({
        "prompt": {"default": "You are polite."}, "agent_name": "surveys",
        "agent_phone_number": "+91 11 4000 0009", "voice_id": "v1", "version": 1,
        "welcome_text": {"default": "Hello"}, "tools": null, "enabled": true,
        "save_stats": true, "server_type": "PROD", "call_type": "SURVEY",
        "created_at": "2026-01-01", "updated_at": "2026-01-01",
    })
}

async fn peer(behaviour: Behaviour) -> RawPeer {
    RawPeer::start([behaviour]).await.expect("a peer")
}

async fn receiver() -> RawPeer {
    let answer = b"HTTP/1.1 204 No Content\r\n\r\n".to_vec();
    peer(Behaviour::Send(answer)).await
}

fn notifying(receiver: &RawPeer) -> Options {
    let url = format!("{}/hook?source=mock", receiver.base_url());
    let webhook = Some(WebhookOptions::to(url));
    let options = Options::default();
    Options { webhook, ..options }
}

async fn until_received(receiver: &RawPeer) {
    until(async || !receiver.requests().is_empty()).await;
}

fn is_timestamp(value: &Value) -> bool {
    let as_zero = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let text = value.as_str().unwrap_or_default();
    text.chars().map(as_zero).collect::<String>() == "0000-00-00T00:00:00.000000"
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).expect("JSON")
}

fn fields(value: &Value) -> usize {
    value.as_object().expect("an object").len()
}

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
async fn a_docket_that_nobody_answers_closes_after_its_last_call() {
    let script = [CallStatus::Busy, CallStatus::NoAnswer];
    let (mock, client) = with(|options| options.scripts.docket = script.to_vec()).await;
    let id = client.docket(&docket_body()).await;
    assert_eq!(mock.complete_docket(&id).unwrap(), script);
    let closed = client.fetch(&id).await;
    assert_eq!(closed["status"], "COMPLETED");
    assert_eq!(closed["closure_reason"], "ATTEMPTS_EXHAUSTED");
}

#[tokio::test]
async fn context_comes_back_as_the_text_that_was_sent() {
    let context = r#"{"z":12345678901234567890, "a":0.10,"a":1e400,"lone":"\ud800","\udc00":[ {} ],"n":null}"#;
    let receiver = receiver().await;
    let (mock, client) = started(notifying(&receiver)).await;
    let body = docket_body().replace(CONTEXT, context);
    let id = client.docket(&body).await;
    let text = client.get(&format!("{V1}/{id}")).await.text();
    assert!(text.contains(&format!(r#""call_context":{context},"#)));
    mock.complete_docket(&id).unwrap();
    assert!(soon(mock.delivered(1)).await[0].body.contains(context));

    let context = r#"{"b":"\ud800" ,"a":"1","a":"2"}"#;
    let call = client.post(MAKE_CALL, &call_body_with(context)).await;
    mock.complete_task(&call.id("task_id")).unwrap();
    let text = client.details(&call.id("task_id")).await.text();
    assert!(text.contains(&format!(r#""call_context":{context},"#)));
}

#[tokio::test]
async fn a_call_has_details_once_it_is_over() {
    let (mock, client) = with(|_| ()).await;
    let task_id = client.call().await;
    assert_eq!(client.details(&task_id).await.status, 404);
    assert_eq!(mock.complete_task(&task_id).unwrap(), CallStatus::Answered);
    assert!(mock.complete_task(&task_id).is_err());

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
    let place = json!(["query", "organizationId"]);
    assert_eq!(
        (none.status, &none.json()["detail"][0]["loc"]),
        (422, &place)
    );

    let created = client.post("/agents/", &agent().to_string()).await;
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
async fn a_missing_or_wrong_token_is_refused_everywhere_and_starts_nothing() {
    for (unauthorized, status) in [
        (Unauthorized::Status401, 401),
        (Unauthorized::Status403, 403),
    ] {
        let (mock, client) = with(|options| options.meanings.unauthorized = unauthorized).await;
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
                assert_eq!(reply.status, status, "{head} {headers:?}");
                let detail = json!({"detail": "Invalid or missing auth_token"});
                assert_eq!(reply.json(), detail);
            }
        }
        assert!(mock.phones_rung().is_empty());
    }
}

/// The first problem of a 422 as "place: type", which must have started nothing.
async fn refusal(path: &str, body: &str) -> String {
    let (mock, client) = with(|_| ()).await;
    let reply = client.post(path, body).await;
    assert_eq!(reply.status, 422, "{path} {body}");
    assert!(mock.phones_rung().is_empty());
    let problem = reply.json()["detail"][0].take();
    assert!(problem["msg"].is_string());
    let parts = problem["loc"].as_array().unwrap().iter();
    let parts: Vec<_> = parts.map(|part| part.as_str().unwrap()).collect();
    format!("{}: {}", parts.join("."), problem["type"].as_str().unwrap())
}

#[tokio::test]
async fn a_docket_number_must_have_12_digits() {
    let wrong = ["91987654321", "9198765432101", "+91987654321"];
    for number in wrong.into_iter().chain(["91987654321x", "", "٩١٩٨٧٦"]) {
        for path in [V1, V2] {
            let body = docket_body().replace(NUMBER, number);
            let expected = "body.to_phone_number: string_pattern_mismatch";
            assert_eq!(refusal(path, &body).await, expected, "{number}");
        }
    }
}

#[tokio::test]
async fn wrong_bodies_are_refused_field_by_field_and_start_nothing() {
    for (path, wrong, expected) in [
        (V1, "{}", "body.agent_id: missing"),
        (V2, "[]", "body: model_attributes_type"),
        (V2, "", "body: missing"),
        (V2, "{", "body: json_invalid"),
        (V2, r#"{"agent_id":"7"}"#, "body.agent_id: int_type"),
        (V2, r#"{"agent_id":7}"#, "body.to_phone_number: missing"),
        (MAKE_CALL, "{}", "body.from_agent_name: missing"),
        ("/agents/", "{}", "body.agent_name: missing"),
        ("/agents/", r#"{"version":"1"}"#, "body.version: int_type"),
        ("/agents/", r#"{"enabled":1}"#, "body.enabled: bool_type"),
        ("/agents/", r#"{"prompt":""}"#, "body.prompt: dict_type"),
        (
            "/agents/",
            r#"{"prompt":{}}"#,
            "body.prompt.default: missing",
        ),
    ] {
        assert_eq!(refusal(path, wrong).await, expected, "{path} {wrong}");
    }
    for (part, wrong, expected) in [
        ("extra_config", "x", "extra_config: missing"),
        ("call_context", "x", "extra_config.call_context: missing"),
        ("\"crm-1\"", "5", "external_id: string_type"),
        (CONTEXT, "[]", "extra_config.call_context: dict_type"),
        (CONTEXT, "null", "extra_config.call_context: dict_type"),
    ] {
        let body = docket_body().replace(part, wrong);
        let expected = format!("body.{expected}");
        assert_eq!(refusal(V2, &body).await, expected, "{body}");
    }
    let body = docket_body().replace(CONTEXT, "NaN");
    assert_eq!(refusal(V1, &body).await, "body: json_invalid");
    let body = call_body().replace(NUMBER, "");
    let expected = "body.to_phone_number: string_too_short";
    assert_eq!(refusal(MAKE_CALL, &body).await, expected);
    let expected = "body.extra_config.call_context.n: string_type";
    assert_eq!(
        refusal(MAKE_CALL, &call_body_with(r#"{"n":1}"#)).await,
        expected
    );
}

#[tokio::test]
async fn every_wrong_field_of_a_body_is_named() {
    let agent_fields = AgentFields::All;
    let (_mock, client) = with(|options| options.meanings.agent_fields = agent_fields).await;
    for (path, problems) in [(V1, 3), (MAKE_CALL, 2), ("/agents/", 12)] {
        let reply = client.post(path, "{}").await;
        assert_eq!(reply.json()["detail"].as_array().unwrap().len(), problems);
    }
    let whole = client.post("/agents/", &agent().to_string()).await;
    assert_eq!(whole.status, 200);
}

#[tokio::test]
async fn a_body_must_be_declared_as_json() {
    let (mock, client) = with(|_| ()).await;
    for (content_type, status) in [
        (None, 422),
        (Some("text/plain"), 422),
        (Some("application/x-www-form-urlencoded"), 422),
        (Some("application/json; charset=utf-8"), 200),
    ] {
        let mut headers = vec![("auth_token", &*client.token)];
        headers.extend(content_type.map(|value| ("content-type", value)));
        let head = format!("POST {V2}");
        let reply = client.send(&head, &headers, &docket_body()).await;
        assert_eq!(reply.status, status, "{content_type:?}");
    }
    assert_eq!(mock.phones_rung(), [NUMBER]);
}

#[tokio::test]
async fn unknown_things_are_not_found_and_wrong_methods_not_allowed() {
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
        "/api/v3/dockets",
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
    let body = call_body().replace("renewals", "nobody");
    assert_eq!(client.post(MAKE_CALL, &body).await.status, 404);
    for (head, allow) in [
        ("GET /make_call", "POST"),
        ("DELETE /api/v1/dockets/x", "GET"),
    ] {
        let reply = client.send(head, &[], "").await;
        assert_eq!(reply.status, 405);
        assert_eq!(reply.headers["allow"], allow);
    }
    assert!(mock.phones_rung().is_empty());
}

#[tokio::test]
async fn nothing_repeated_is_recognised_unless_told_to() {
    let (mock, client) = with(|_| ()).await;
    let first = client.docket(&docket_body()).await;
    assert_ne!(client.docket(&docket_body()).await, first);
    assert_eq!(mock.times_rung(NUMBER), 2);

    let repeated_external_id = RepeatedExternalId::SameDocket;
    let (mock, client) =
        with(|options| options.meanings.repeated_external_id = repeated_external_id).await;
    let first = client.docket(&docket_body()).await;
    let again = client.post(V2, &docket_body()).await.json();
    let expected = json!({"docket_id": first, "status": "OPEN", "created": false});
    assert_eq!(again, expected);
    client.post(V1, &docket_body()).await;
    assert_eq!(mock.times_rung(NUMBER), 2, "version 1 has no external id");
}

#[tokio::test]
async fn details_that_are_not_ready_and_tasks_that_are_unknown_have_alternatives() {
    for (details_not_ready, status) in [
        (DetailsNotReady::NotFound, 404),
        (DetailsNotReady::EmptyArray, 200),
        (DetailsNotReady::NoInsights, 200),
    ] {
        let (_mock, client) = with(|options| {
            options.meanings.details_not_ready = details_not_ready;
            options.meanings.unknown_task = UnknownTask::EmptyArray;
        })
        .await;
        let reply = client.details(&client.call().await).await;
        assert_eq!(reply.status, status);
        match details_not_ready {
            DetailsNotReady::NotFound => assert!(reply.json()["detail"].is_string()),
            DetailsNotReady::EmptyArray => assert_eq!(reply.json(), json!([])),
            DetailsNotReady::NoInsights => {
                let record = &reply.json()[0];
                assert!(record["call_insights"].is_null());
                assert_eq!(record["call_status"], "IN_PROGRESS");
            }
        }
        assert_eq!(client.details("x").await.json(), json!([]));
    }
}

#[tokio::test]
async fn details_may_be_a_lone_object_and_a_redial_and_of_a_dockets_call() {
    let mut options = Options::default();
    options.scripts.direct_call = CallStatus::Busy;
    let (mock, client) = started(options.clone()).await;
    let task_id = client.call().await;
    mock.complete_task(&task_id).unwrap();
    let record = client.details(&task_id).await.json()[0].take();
    assert_eq!(record["call_status"], "BUSY");
    assert!(record["call_insights"].is_null() && record["call_recording_url"].is_null());
    assert_eq!(dockets_call_details(&mock, &client).await.status, 404);

    options.meanings.details_shape = DetailsShape::Object;
    options.meanings.unanswered_insights = UnansweredInsights::Redial;
    options.meanings.docket_calls = DocketCalls::Tasks;
    let (mock, client) = started(options).await;
    let task_id = client.call().await;
    mock.complete_task(&task_id).unwrap();
    let record = client.details(&task_id).await.json();
    assert_eq!(record["call_insights"]["next_action"]["value"], "REDIAL");
    let record = dockets_call_details(&mock, &client).await.json();
    assert_eq!(record["call_status"], "NO_ANSWER");
}

async fn dockets_call_details(mock: &MockService, client: &Client) -> Reply {
    let id = client.docket(&docket_body()).await;
    mock.place_next_call(&id).unwrap();
    let call_id = client.fetch(&id).await["latest_call_id"].take();
    client.details(call_id.as_str().unwrap()).await
}

#[tokio::test]
async fn the_status_of_an_open_version_2_docket_has_alternatives() {
    for (v2_status, before, between) in [
        (V2Status::OpenUntilCalled, "OPEN", "IN_PROGRESS"),
        (V2Status::InProgress, "IN_PROGRESS", "IN_PROGRESS"),
        (V2Status::OpenUntilClosed, "OPEN", "OPEN"),
    ] {
        let (mock, client) = with(|options| options.meanings.v2_status = v2_status).await;
        let id = client.docket(&docket_body()).await;
        assert_eq!(client.fetch(&id).await["status"], before);
        mock.place_next_call(&id).unwrap();
        assert_eq!(client.fetch(&id).await["status"], between);
        mock.place_next_call(&id).unwrap();
        assert_eq!(client.fetch(&id).await["status"], "COMPLETED");
    }
}

#[tokio::test]
async fn what_an_open_docket_lacks_may_be_left_out() {
    let open_docket_fields = OpenDocketFields::LeftOut;
    let (mock, client) =
        with(|options| options.meanings.open_docket_fields = open_docket_fields).await;
    let id = client.docket(&docket_body()).await;
    assert_eq!(fields(&client.fetch(&id).await), 11);
    mock.complete_docket(&id).unwrap();
    assert_eq!(fields(&client.fetch(&id).await), 17);
}

#[tokio::test]
async fn a_422_may_be_a_text_or_empty() {
    let text = "body.from_agent_name: Field required; body.to_phone_number: Field required";
    let text = json!({"detail": text}).to_string();
    for (validation_body, body) in [(ValidationBody::Text, &*text), (ValidationBody::Empty, "")] {
        let (_mock, client) =
            with(|options| options.meanings.validation_body = validation_body).await;
        let reply = client.post(MAKE_CALL, "{}").await;
        assert_eq!((reply.status, &*reply.text()), (422, body));
    }
}

#[tokio::test]
async fn a_created_agent_has_alternatives() {
    let body = r#"{ "agent_name":"x","version":1,"extra":0.10 }"#;
    let configuration = r#"{"agent_id":9, "agent_name":"x","version":1,"extra":0.10 }"#;
    for (created_agent, status, expected) in [
        (CreatedAgent::Id, 200, r#"{"agent_id":9}"#),
        (CreatedAgent::Configuration, 200, configuration),
        (CreatedAgent::Empty, 200, ""),
        (CreatedAgent::NoContent, 204, ""),
    ] {
        let (_mock, client) = with(|options| options.meanings.created_agent = created_agent).await;
        let reply = client.post("/agents/", body).await;
        assert_eq!((reply.status, &*reply.text()), (status, expected));
    }
}

#[tokio::test]
async fn the_agent_may_be_selected_by_phone_number_where_told_so() {
    let body = call_body().replace("from_agent_name\":\"renewals", "number\":\"+911140000008");
    let (_mock, client) = with(|_| ()).await;
    assert_eq!(client.post(MAKE_CALL, &body).await.status, 422);
    let agent_phone_field = Some("number".to_owned());
    let (mock, client) =
        with(|options| options.meanings.agent_phone_field = agent_phone_field).await;
    let task_id = client.post(MAKE_CALL, &body).await.id("task_id");
    mock.complete_task(&task_id).unwrap();
    let details = client.details(&task_id).await.json();
    assert_eq!(details[0]["agent_name"], "collections");
    client.call().await; // by name, too
}

#[tokio::test]
async fn faults_come_in_their_order_and_at_their_endpoint() {
    let (mock, client) = with(|_| ()).await;
    let v2 = Endpoint::CreateDocketV2;
    mock.on_next(v2, Fault::status(503));
    mock.on_next(v2, Fault::rate_limited(Some("soon")));
    mock.on_nth(v2, 4, Fault::created_then(503));
    assert_eq!(client.post(V1, &docket_body()).await.status, 200);
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let reply = client.post(V2, &docket_body()).await;
        let retry_after = reply.headers.get("retry-after");
        assert_eq!(
            retry_after.is_some_and(|after| after == "soon"),
            reply.status == 429
        );
        if reply.status == 503 {
            assert_eq!(reply.json(), json!({"detail": "Service Unavailable"}));
        }
        statuses.push(reply.status);
    }
    assert_eq!(statuses, [503, 429, 200, 503, 200]);
    assert_eq!(mock.times_rung(NUMBER), 4, "one 503 came after a creation");
    let received = mock.requests_to(v2);
    let answered: Vec<_> = received.iter().map(|one| one.answered.as_u16()).collect();
    assert_eq!(answered, statuses);
}

#[tokio::test]
async fn a_fault_answers_with_any_bytes_and_headers() {
    let (mock, client) = with(|_| ()).await;
    let odd = Fault::status(502)
        .body("text/html", b"<h1>\xff</h1>")
        .header("content-encoding", "gzip")
        .header("x-echo", &client.token)
        .header("x-raw", b"\xfe");
    mock.on_next(Endpoint::ListAgents, odd);
    let path = "/api/v1/agents?organizationId=org-1";
    let reply = client.get(path).await;
    assert_eq!((reply.status, &*reply.body), (502, &b"<h1>\xff</h1>"[..]));
    let types: Vec<_> = reply.headers.get_all("content-type").iter().collect();
    assert_eq!(types, ["text/html"]);
    assert_eq!(reply.headers["content-encoding"], "gzip");
    assert_eq!(reply.headers["x-echo"], client.token);
    assert_eq!(reply.headers["x-raw"].as_bytes(), b"\xfe");

    let other = Fault::status(200).body("application/json", "{}");
    mock.on_next(Endpoint::ListAgents, other);
    assert_eq!(client.get(path).await.json(), json!({}));
    let proper = Fault::slow(Duration::ZERO).header("x-request-id", "1");
    mock.on_next(Endpoint::ListAgents, proper);
    let reply = client.get(path).await;
    assert_eq!(reply.headers["x-request-id"], "1");
    assert_eq!(reply.json()[0]["agent_id"], 7);
}

#[tokio::test]
async fn a_slow_answer_comes_after_the_phone_rang() {
    let (mock, client) = with(|_| ()).await;
    mock.on_next(Endpoint::MakeCall, Fault::slow(Duration::from_secs(3600)));
    tokio::select! {
        _ = client.call() => panic!("the answer is an hour away"),
        () = until(async || mock.times_rung(NUMBER) == 1) => {}
    }
}

#[tokio::test]
async fn faults_are_read_from_text() {
    let texts = [
        "create-docket-v2:503",
        "create-docket-v2:429:retry-after=1",
        "make-call@2:created-then-503:delay-ms=1",
        "list-agents:html",
        "make-call:hang",
        "create-docket:created-then-unanswered",
        "create-docket:completed-first",
    ];
    let faults = texts.map(|text| text.parse().unwrap()).to_vec();
    let (mock, client) = with(|options| options.faults = faults).await;
    let listed = mock.changes(0).orders.into_iter();
    let listed: Vec<_> = listed.map(|order| order.fault).collect();
    let as_listed = [
        "503",
        "429 with Retry-After 1",
        "created-then-503 after 1 ms",
        "200 with a body of its own",
        "hang",
        "created-then-unanswered",
        "completed-first",
    ];
    assert_eq!(listed, as_listed);
    mock.clear_orders();
    for text in &texts[..4] {
        mock.order(text.parse().unwrap());
    }
    assert_eq!(client.post(V2, &docket_body()).await.status, 503);
    let limited = client.post(V2, &docket_body()).await;
    assert_eq!(limited.status, 429);
    assert_eq!(limited.headers["retry-after"], "1");
    client.call().await;
    assert_eq!(client.post(MAKE_CALL, &call_body()).await.status, 503);
    assert_eq!(mock.times_rung(NUMBER), 2);
    let page = client.get("/api/v1/agents?organizationId=org-1").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.headers["content-type"], "text/html");
    assert!(page.body.starts_with(b"<!DOCTYPE html>"));
}

#[tokio::test]
async fn two_faults_for_one_request_are_an_error_that_names_both() {
    for (texts, number) in [
        (["make-call@2:503", "make-call@2:429"], 2),
        (["make-call@2:429", "make-call@2:429"], 2),
        (["make-call:503", "make-call@1:hang"], 1),
    ] {
        let faults = texts
            .map(|text| text.parse::<FaultOrder>().unwrap())
            .to_vec();
        let [first, second] = [&faults[0], &faults[1]].map(|order| order.fault.to_string());
        let mut options = Options::default();
        options.faults.clone_from(&faults);
        let error = MockService::start(options).await.err().expect("an error");
        let expected =
            format!("request {number} to make-call can have one fault: found {first} and {second}");
        assert_eq!(error.to_string(), expected);
    }
    let (mock, _) = with(|_| ()).await;
    for text in [
        "make-call@2:503",
        "make-call:429",
        "make-call:hang",
        "create-docket@2:503",
    ] {
        mock.order(text.parse().unwrap());
    }
    let pending = mock.changes(0).orders.into_iter();
    let pending: Vec<_> = pending.map(|order| order.fault).collect();
    assert_eq!(pending, ["503", "429", "hang", "503"]);
}

#[tokio::test]
#[should_panic(expected = "request 2 to make-call can have one fault: found 503 and 429")]
async fn a_second_fault_for_one_request_of_a_running_mock_panics() {
    let (mock, _) = with(|_| ()).await;
    mock.on_nth(Endpoint::MakeCall, 2, Fault::status(503));
    mock.on_nth(Endpoint::MakeCall, 2, Fault::status(429));
}

#[tokio::test]
async fn the_token_is_not_in_what_debug_shows_as_text_or_as_bytes() {
    let token = "canary-5f1e0c77";
    let (mock, client) = with(|options| options.token = token.to_owned()).await;
    client.docket(&docket_body()).await;
    let bytes = format!("{:?}", token.as_bytes());
    for shown in [
        format!("{:?}", mock.requests()),
        format!("{:?}", mock.exchanges()),
    ] {
        assert!(shown.contains("/api/v2/dockets"), "{shown}");
        assert!(shown.contains("auth_token"), "{shown}");
        assert!(!shown.contains(token), "{shown}");
        assert!(!shown.contains(bytes.trim_matches(['[', ']'])), "{shown}");
    }
}

#[test]
fn a_fault_that_cannot_be_parsed_is_explained() {
    let endpoints = "\"call\" is not an endpoint; allowed: create-agent, make-call, \
        get-call-details, create-docket, create-docket-v2, get-docket, list-agents";
    for (text, complaint) in [
        ("", "no fault after the endpoint"),
        ("make-call", "no fault after the endpoint"),
        ("call:503", endpoints),
        ("make-call@0:503", "\"0\" after the @"),
        ("make-call:teapot", "\"teapot\" is not a fault"),
        ("make-call:100", "100 is not a final HTTP status"),
        ("make-call:1000", "1000 is not an HTTP status"),
        (
            "make-call:created-then-",
            "\"created-then-\" is not a fault",
        ),
        ("make-call:503:retry=1", "unknown option \"retry=1\""),
        ("make-call:503:delay-ms=x", "delay-ms=x is not a number"),
        (
            "make-call:429:retry-after=\n",
            "is not a valid header value",
        ),
    ] {
        let error = text.parse::<FaultOrder>().expect_err(text);
        let error = format!("{error:#}");
        assert!(error.contains(complaint), "{text}: {error}");
    }
}

#[tokio::test]
async fn the_webhook_is_told_of_an_answered_docket_once() {
    let receiver = receiver().await;
    let (mock, client) = started(notifying(&receiver)).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    let docket = client.fetch(&id).await;
    assert_eq!(docket["notification_status"], "SENT");

    let delivery = soon(mock.delivered(1)).await.remove(0);
    assert_eq!(delivery.kind, NotificationKind::DocketCompleted);
    assert_eq!(delivery.outcome.unwrap(), 204);
    let mut told = parsed(&delivery.body);
    let attempts = told["attempts"].take();
    let metadata = told["call_insights"]["call_metadata"].take();
    assert_eq!(metadata["language"], "en");
    let call_id = docket["closed_call_id"].as_str().unwrap();
    let expected = json!({
        "docket_id": id, "call_context": {"name": "Asha"}, "attempts": null,
        "call_insights": {"call_disposition": "INTERESTED", "call_metadata": null},
        "dashboard_url": format!("https://dashboard.voice.example/{call_id}"),
    });
    assert_eq!(told, expected);
    assert_eq!(attempts.as_array().unwrap().len(), 2);
    assert_eq!(attempts[0]["call_status"], "NO_ANSWER");
    assert_eq!(attempts[1]["call_id"], docket["latest_call_id"]);

    let requests = receiver.requests();
    assert_eq!(requests.len(), 1);
    let request = String::from_utf8_lossy(&requests[0]);
    assert!(request.starts_with("POST /hook?source=mock HTTP/1.1\r\n"));
    assert!(request.contains("content-type: application/json\r\n"));
    assert!(request.ends_with(&delivery.body));
}

#[tokio::test]
async fn a_never_answered_docket_is_told_with_nulls_or_not_at_all() {
    let receiver = receiver().await;
    let mut options = notifying(&receiver);
    options.scripts.docket = vec![CallStatus::NoAnswer];
    let (mock, client) = started(options.clone()).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    let told = parsed(&soon(mock.delivered(1)).await[0].body);
    assert_eq!(told["docket_id"], *id);
    assert_eq!(told.get("call_insights"), Some(&Value::Null));
    assert_eq!(told.get("dashboard_url"), Some(&Value::Null));
    assert_eq!(told["attempts"].as_array().unwrap().len(), 1);

    options.meanings.never_answered = NeverAnswered::Silent;
    let (mock, client) = started(options).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    assert_eq!(client.fetch(&id).await["notification_status"], "SKIPPED");
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_notification_may_be_repeated_and_joined_by_call_events() {
    let receiver = receiver().await;
    let mut options = notifying(&receiver);
    let webhook = options.webhook.as_mut().unwrap();
    (webhook.copies, webhook.call_events) = (2, true);
    options.scripts.docket = vec![CallStatus::Answered];
    let (mock, client) = started(options).await;
    let task_id = client.call().await;
    mock.complete_task(&task_id).unwrap();
    soon(mock.delivered(2)).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    let deliveries = soon(mock.delivered(6)).await;
    let kinds: Vec<_> = deliveries.iter().map(|delivery| delivery.kind).collect();
    let call = NotificationKind::CallCompleted;
    let docket = NotificationKind::DocketCompleted;
    assert_eq!(kinds, [call, call, call, call, docket, docket]);
    assert_eq!(deliveries[4].body, deliveries[5].body);
    let of_task = parsed(&deliveries[0].body);
    assert_eq!(of_task["task_id"], *task_id);
    assert!(of_task["docket_id"].is_null());
    let of_docket = parsed(&deliveries[2].body);
    assert_eq!(of_docket["docket_id"], *id);
    assert_eq!(of_docket["call_status"], "ANSWERED");
    assert!(of_docket.get("attempts").is_none() && of_docket.get("dashboard_url").is_none());
}

#[tokio::test]
async fn a_docket_may_be_seen_completed_only_after_its_notification() {
    let receiver = peer(Behaviour::Silence).await;
    let mut options = notifying(&receiver);
    options.webhook.as_mut().unwrap().order = NotificationOrder::BeforeCompletion;
    let (mock, client) = started(options).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    until_received(&receiver).await;
    assert_eq!(client.fetch(&id).await["status"], "IN_PROGRESS");
    assert!(mock.place_next_call(&id).is_err(), "no call is left");
    drop(receiver);
    assert!(soon(mock.delivered(1)).await[0].outcome.is_err());
    until(async || client.fetch(&id).await["status"] == "COMPLETED").await;
}

#[tokio::test]
async fn a_late_notification_comes_after_the_completion() {
    let receiver = receiver().await;
    let mut options = notifying(&receiver);
    options.webhook.as_mut().unwrap().delay = Duration::from_secs(3600);
    let (mock, client) = started(options).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    assert_eq!(client.fetch(&id).await["status"], "COMPLETED");
    assert!(mock.deliveries().is_empty());
}

#[tokio::test]
async fn what_a_receiver_answers_or_that_it_is_not_there_is_recorded() {
    let nobody = closed_port().unwrap();
    let (refusing, _client) = with(|_| ()).await;
    for (url, expected) in [(nobody.base_url(), "refused"), (refusing.base_url(), "404")] {
        let webhook = Some(WebhookOptions::to(url));
        let (mock, client) = with(|options| options.webhook = webhook).await;
        let id = client.docket(&docket_body()).await;
        mock.complete_docket(&id).unwrap();
        let outcome = format!("{:?}", soon(mock.delivered(1)).await[0].outcome);
        assert!(outcome.contains(expected), "{outcome}");
    }
}

#[tokio::test]
async fn calls_are_placed_by_themselves_at_the_given_pace() {
    let receiver = receiver().await;
    let mut options = notifying(&receiver);
    options.pace = Pace::Every(Duration::from_millis(2));
    let (mock, client) = started(options).await;
    let id = client.docket(&docket_body()).await;
    let task_id = client.call().await;
    soon(mock.delivered(1)).await;
    assert_eq!(client.fetch(&id).await["outbound_call_count"], 2);
    until(async || client.details(&task_id).await.status == 200).await;
}

#[tokio::test]
async fn outcomes_follow_the_number_then_the_seed() {
    let of_ten = async |scripts: &Scripts| {
        let (mock, client) = with(|options| options.scripts = scripts.clone()).await;
        let mut all = Vec::new();
        for last in 0..10 {
            let body = docket_body().replace("3210", &format!("321{last}"));
            let id = client.docket(&body).await;
            all.push(mock.complete_docket(&id).unwrap());
        }
        all
    };
    let busy = ("919876543211".to_owned(), vec![CallStatus::Busy]);
    let mut scripts = Scripts::default();
    scripts.by_number.extend([busy]);
    scripts.seed = Some(1);
    let drawn = of_ten(&scripts).await;
    assert_eq!(drawn[1], [CallStatus::Busy]);
    assert_eq!(of_ten(&scripts).await, drawn);
    scripts.seed = Some(2);
    assert_ne!(of_ten(&scripts).await, drawn);
}

#[tokio::test]
async fn requests_are_kept_as_they_came() {
    let (mock, client) = with(|_| ()).await;
    let path = "/call_details/%C3%A9%2F%3F%20~?q=%41+b";
    let headers = [
        ("auth_token", "Bearer x"),
        ("X-B", "2"),
        ("x-a", "1"),
        ("x-a", "0"),
    ];
    client.send(&format!("GET {path}"), &headers, "body").await;
    let request = &mock.requests()[0];
    assert_eq!(
        (request.method.as_str(), &*request.path_and_query),
        ("GET", path)
    );
    assert_eq!(request.path(), "/call_details/%C3%A9%2F%3F%20~");
    assert_eq!(request.query, [("q".to_owned(), "A b".to_owned())]);
    assert_eq!(request.body_text(), "body");
    assert_eq!(request.endpoint, Some(Endpoint::GetCallDetails));
    assert_eq!(request.answered, 401);
    assert_eq!(request.header("auth_token"), Some("Bearer x"));
    assert_eq!(request.header_values("x-a"), [b"1", b"0"]);
    let host = mock.address().to_string();
    assert_eq!(request.header("host"), Some(&*host));
    let names: Vec<_> = request.headers.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names[..4], ["auth_token", "x-b", "x-a", "x-a"]);
}

#[tokio::test]
async fn a_mock_that_cannot_start_says_why() {
    let (mock, _client) = with(|_| ()).await;
    let mut options = [(); 3].map(|()| Options::default());
    options[0].webhook = Some(WebhookOptions::to("http://localhost.evil.example/hook"));
    options[1].port = mock.address().port();
    options[2].scripts.docket.clear();
    let complaints = [
        "\"localhost.evil.example\" is not loopback",
        "cannot listen on 127.0.0.1:",
        "a script of calls is empty",
    ];
    for (options, complaint) in options.into_iter().zip(complaints) {
        let error = MockService::start(options).await.err().expect(complaint);
        let error = format!("{error:#}");
        assert!(error.contains(complaint), "{error}");
    }
}

#[tokio::test]
async fn a_stopped_mock_leaves_nothing_running() {
    let receiver = peer(Behaviour::Silence).await;
    let mut options = notifying(&receiver);
    options.pace = Pace::Every(Duration::from_millis(1));
    let (mock, client) = started(options).await;
    client.docket(&docket_body()).await;
    until_received(&receiver).await;
    let address = mock.address();
    drop((client, receiver));
    mock.stop().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    until_no_task_is_left().await;
}

#[tokio::test]
async fn a_dropped_mock_frees_its_port_and_ends_its_deliveries() {
    let receiver = peer(Behaviour::Silence).await;
    let (mock, client) = started(notifying(&receiver)).await;
    let id = client.docket(&docket_body()).await;
    mock.complete_docket(&id).unwrap();
    until_received(&receiver).await;
    let port = mock.address().port();
    drop((mock, client, receiver));
    until_no_task_is_left().await;
    let options = Options {
        port,
        ..Options::default()
    };
    until(async || MockService::start(options.clone()).await.is_ok()).await;
}

async fn until_no_task_is_left() {
    let metrics = tokio::runtime::Handle::current().metrics();
    until(async || metrics.num_alive_tasks() == 0).await;
}

#[tokio::test]
async fn raw_peers_misbehave_as_scripted_and_count() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let half = "HTTP/1.1 200 OK\r\nContent-Ty";
    let cut = "HTTP/1.1 500 Cut\r\nContent-Type: application/json\r\nContent-Length: 64\r\n\r\n{\"docket_id\": \"cut";
    let script = [
        (Behaviour::CloseBeforeReading, None),
        (Behaviour::ResetAfterReading, None),
        (Behaviour::CloseAfterReading, Some("")),
        (Behaviour::HalfHead, Some(half)),
        (Behaviour::CutBody(500), Some(cut)),
        (Behaviour::Send(b"nonsense".to_vec()), Some("nonsense")),
    ];
    let behaviours: Vec<_> = script.iter().map(|(one, _)| one.clone()).collect();
    let peer = RawPeer::start(behaviours).await.unwrap();
    let request = b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    for (behaviour, expected) in script {
        let stream = tokio::net::TcpStream::connect(peer.address()).await;
        let mut stream = stream.unwrap();
        let _closed_before = stream.write_all(request).await;
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer).await;
        assert_eq!(answer, expected.unwrap_or_default(), "{behaviour:?}");
        if behaviour == Behaviour::ResetAfterReading {
            assert!(read.is_err());
        }
    }
    assert_eq!(peer.connections(), 6);
    assert_eq!(peer.requests(), vec![request.to_vec(); 5]);
}

#[tokio::test]
async fn of_what_was_recorded_only_as_much_is_kept_as_is_wanted() {
    let receiver = receiver().await;
    let mut options = notifying(&receiver);
    options.kept_records = Some(2);
    let (mock, client) = started(options).await;
    for number in ["919876543211", "919876543212", "919876543213"] {
        let id = client.docket(&docket_body().replace(NUMBER, number)).await;
        mock.complete_docket(&id).unwrap();
    }
    assert_eq!(mock.phones_rung(), ["919876543212", "919876543213"]);
    assert_eq!(mock.times_rung("919876543211"), 0);
    let bodies: Vec<_> = mock
        .requests()
        .iter()
        .map(|kept| kept.body_text())
        .collect();
    assert_eq!(bodies.len(), 2);
    assert!(bodies[0].contains("919876543212") && bodies[1].contains("919876543213"));
    // All three were delivered, though the first is no longer kept.
    assert_eq!(soon(mock.delivered(3)).await.len(), 2);
    assert_eq!(mock.deliveries().len(), 2);
}

#[tokio::test]
async fn the_oldest_dockets_and_calls_that_are_over_are_forgotten_and_none_that_goes_on() {
    let (mock, client) = with(|options| {
        options.kept_state = Some(2);
        options.meanings.repeated_external_id = RepeatedExternalId::SameDocket;
    })
    .await;
    let body = |external_id: &str| docket_body().replace("crm-1", external_id);
    let open = client.docket(&body("open")).await;
    let first = client.docket(&body("first")).await;
    mock.complete_docket(&first).unwrap();
    let call = client.call().await;
    mock.complete_task(&call).unwrap();
    assert_eq!(client.fetch(&first).await["status"], "COMPLETED");
    assert_eq!(client.docket(&body("first")).await, first);

    let second = client.docket(&body("second")).await;
    mock.complete_docket(&second).unwrap();
    assert_eq!(client.get(&format!("{V1}/{first}")).await.status, 404);
    assert_eq!(client.details(&call).await.status, 200);
    assert_ne!(client.docket(&body("first")).await, first);

    let third = client.docket(&body("third")).await;
    mock.complete_docket(&third).unwrap();
    assert_eq!(client.details(&call).await.status, 404);
    for docket in [second, third] {
        assert_eq!(client.fetch(&docket).await["status"], "COMPLETED");
    }
    assert_eq!(client.fetch(&open).await["status"], "OPEN");
    mock.complete_docket(&open).unwrap();
}

#[tokio::test]
async fn of_created_agents_the_oldest_are_forgotten_and_no_id_comes_twice() {
    let (_mock, client) = with(|options| options.kept_state = Some(1)).await;
    for agent_id in [9, 10, 11] {
        let created = client.post("/agents/", &agent().to_string()).await;
        assert_eq!(created.json(), json!({"agent_id": agent_id}));
    }
    let listed = client.get("/api/v1/agents?organizationId=org-1").await;
    let ids: Vec<_> = listed
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["agent_id"].clone())
        .collect();
    assert_eq!(ids, [7, 8, 11]);
}
