//! The mock's page: access, content, and clicks.

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use voice_calling_mock::{MockService, Options};
use voice_calling_page::Page;

const NUMBER: &str = "919876543210";
const MARKUP: &str = "<img src=x onerror=alert(1)>";
const DOCKETS: &str = "/api/v2/dockets";

/// Fails instead of hanging: the future must complete soon.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, what).await.expect("no hang")
}

/// A mock, its page, and a client of both.
struct Site {
    mock: Arc<MockService>,
    page: Page,
    http: HttpClient<HttpConnector, Full<Bytes>>,
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    fn error(&self) -> String {
        self.json()["error"].as_str().expect("an error").to_owned()
    }
}

impl Site {
    async fn open() -> Self {
        let mock = MockService::start(Options::default())
            .await
            .expect("a mock");
        let mock = Arc::new(mock);
        let page = Page::start(mock.clone(), 0).await.expect("a page");
        Self {
            mock,
            page,
            http: HttpClient::builder(TokioExecutor::new()).build_http(),
        }
    }

    async fn send(&self, to: &str, head: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let (method, path) = head.split_once(' ').expect("METHOD /path");
        let mut request = Request::builder().method(method).uri(format!("{to}{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.to_owned())).expect("request");
        let reply = soon(self.http.request(request)).await.expect("an answer");
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let body = soon(reply.into_body().collect()).await.expect("a body");
        Reply {
            status,
            headers,
            body: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        }
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(self.page.url(), &format!("GET {path}"), &[], "")
            .await
    }

    async fn click(&self, path: &str, body: &Value) -> Reply {
        self.click_text(path, &body.to_string()).await
    }

    async fn click_text(&self, path: &str, body: &str) -> Reply {
        let json = ("content-type", "application/json");
        let headers = [("origin", self.page.url()), json];
        let head = format!("POST {path}");
        self.send(self.page.url(), &head, &headers, body).await
    }

    /// Sends a request to the mock.
    async fn ask(&self, head: &str, body: &str) -> Reply {
        let token = format!("Bearer {}", self.mock.token());
        let headers = [
            ("auth_token", &*token),
            ("content-type", "application/json"),
        ];
        self.send(&self.mock.base_url(), head, &headers, body).await
    }

    async fn create(&self, number: &str) -> Reply {
        let context = json!({"name": MARKUP, "token": self.mock.token()});
        let body = json!({
            "agent_id": 7, "to_phone_number": number, "external_id": "crm-1",
            "extra_config": {"call_context": context},
        });
        self.ask(&format!("POST {DOCKETS}"), &body.to_string())
            .await
    }

    async fn docket(&self, number: &str) -> String {
        let created = self.create(number).await.json();
        created["docket_id"].as_str().expect("an id").to_owned()
    }

    /// Returns the first events, up to one that satisfies `enough`.
    async fn events(&self, enough: impl Fn(&Value) -> bool) -> Vec<Value> {
        let request = Request::get(format!("{}/events", self.page.url()));
        let request = request.body(Full::default()).expect("request");
        let reply = soon(self.http.request(request)).await.expect("an answer");
        assert_eq!(reply.headers()["content-type"], "text/event-stream");
        let mut body = reply.into_body();
        let mut text = String::new();
        let mut events = Vec::new();
        loop {
            let frame = soon(body.frame()).await.expect("no end").expect("a frame");
            text += std::str::from_utf8(frame.data_ref().expect("data")).expect("UTF-8");
            while let Some((event, rest)) = text.split_once("\n\n") {
                let data = event.strip_prefix("data: ").expect("data");
                events.push(serde_json::from_str(data).expect("JSON"));
                text = rest.to_owned();
            }
            if events.last().is_some_and(&enough) {
                return events;
            }
        }
    }

    /// Returns the current content of the page.
    async fn shown(&self) -> Value {
        self.events(|_| true).await.remove(0)
    }
}

#[tokio::test]
async fn only_the_page_s_own_address_is_served() {
    let site = Site::open().await;
    let port = site.page.url().rsplit(':').next().unwrap();
    for (host, status) in [
        ("127.0.0.1", 200),
        ("localhost", 200),
        ("[::1]", 200),
        ("rebound.example", 403),
        ("127.0.0.1.rebound.example", 403),
    ] {
        let host = format!("{host}:{port}");
        for path in ["/", "/page.js", "/events", "/nothing"] {
            if status == 200 && path != "/" {
                continue;
            }
            let host = [("host", &*host)];
            let reply = site
                .send(site.page.url(), &format!("GET {path}"), &host, "")
                .await;
            assert_eq!(reply.status, status, "{host:?} {path}");
        }
    }
    let other_port = [("host", "127.0.0.1:1")];
    let reply = site.send(site.page.url(), "GET /", &other_port, "").await;
    assert_eq!(reply.status, 403);
    assert!(
        reply.error().contains("Host is \"127.0.0.1:1\""),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn another_site_cannot_click() {
    let site = Site::open().await;
    let id = site.docket(NUMBER).await;
    let body = json!({"attempt": 1, "status": "BUSY"}).to_string();
    for origin in ["http://evil.example", "http://127.0.0.1:1", "null"] {
        for path in ["/faults/clear", "/nothing", &format!("/entries/{id}/end")] {
            let headers = [("origin", origin), ("content-type", "application/json")];
            let head = format!("POST {path}");
            let reply = site.send(site.page.url(), &head, &headers, &body).await;
            assert_eq!(reply.status, 403, "{path}");
            assert!(reply.error().contains(origin), "{}", reply.body);
        }
    }
    assert_eq!(site.mock.entry(&id).unwrap().entry.attempts, 0);
}

#[tokio::test]
async fn every_answer_has_the_policy_also_those_that_refuse() {
    let site = Site::open().await;
    let page = site.page.url();
    let replies = [
        site.get("/").await,
        site.get("/page.js").await,
        site.get("/nothing").await,
        site.click("/faults", &Value::Null).await,
        site.send(page, "POST /faults", &[("origin", "null")], "")
            .await,
        site.send(page, "GET /", &[("host", "x")], "").await,
    ];
    let statuses = replies.iter().map(|reply| reply.status);
    assert!(statuses.eq([200, 200, 404, 422, 403, 403]));
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
        connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    for reply in replies {
        assert_eq!(reply.headers["content-security-policy"], policy);
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        assert_eq!(reply.headers["referrer-policy"], "no-referrer");
        assert_eq!(reply.headers["cache-control"], "no-store");
    }
}

#[tokio::test]
async fn tokens_are_masked_wherever_a_client_puts_them() {
    let site = Site::open().await;
    let token = site.mock.token();
    let id = site.docket(NUMBER).await;
    site.ask(&format!("GET /{token}?t={token}"), &token).await;
    let wrong = [
        ("auth_token", "Bearer of-another-service"),
        ("authorization", "Basic another-secret"),
        ("x-copy", &*token),
    ];
    site.send(&site.mock.base_url(), "GET /api/v1/agents", &wrong, "")
        .await;
    let mut shown = vec![site.shown().await.to_string()];
    for path in [
        &format!("/entries/{id}"),
        "/requests/1",
        "/requests/2",
        "/requests/3",
    ] {
        shown.push(site.get(path).await.body);
    }
    for text in &shown {
        for secret in [&*token, "of-another-service", "another-secret"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert!(text.contains("[api token]"), "{text}");
    }
}

#[tokio::test]
async fn the_first_event_has_everything_and_the_others_what_changes() {
    let site = Site::open().await;
    let first = site.docket(NUMBER).await;
    let second = site.docket("919876543211").await;
    let others = async {
        loop {
            site.create("919876543212").await;
        }
    };
    let events = tokio::select! {
        events = site.events(|event| event["entries"][0]["id"] != *first) => events,
        () = others => unreachable!(),
    };
    let [all, changed] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(all["manual"], true);
    assert_eq!(all["base_url"], site.mock.base_url());
    assert_eq!(all["entries"][0]["ringing"]["attempt"], 1);
    assert_eq!(all["entries"][1]["id"], *second);
    assert_eq!(all["requests"][1]["entry"], *second);
    let changed = changed["entries"].as_array().unwrap().iter();
    assert!(
        changed
            .map(|entry| &entry["number"])
            .all(|it| it == "919876543212")
    );
}

/// Path, body, status, and error message.
const WRONG_CLICKS: &str = r#"
    /entries/ID/end | {"status":"BUSY"} | 422 | missing field `attempt`
    /entries/ID/end | {"attempt":"1","status":"BUSY"} | 422 | attempt: invalid type
    /entries/ID/end | {"attempt":1,"status":"GONE"} | 422 | unknown variant `GONE`
    /entries/ID/end | {"attempt":1,"status":"ANSWERED","second":1} | 422 | unknown field `second`
    /entries/ID/end | {"attempt":1,"status":"ANSWERED","seconds":-1} | 422 | seconds is -1; allowed:
    /entries/ID/end | {"attempt":1,"status":"ANSWERED","metadata":[]} | 422 | metadata is "[]"; allowed:
    /entries/ID/end | {"attempt":1,"status":"ANSWERED","interest":1} | 422 | interest: invalid type
    /entries/ID/end | {"attempt":2,"status":"BUSY"} | 422 | attempt 2 does not ring
    /entries/1/end | {"attempt":1,"status":"BUSY"} | 422 | no docket or direct call has the id "1"
    /faults | {"order":"dial:503"} | 422 | "dial" is not an endpoint
    /faults | {"order":"make-call:teapot"} | 422 | "teapot" is not a fault
    /nothing | {} | 404 | not found
"#;

#[tokio::test]
async fn what_is_wrong_with_a_click_is_named_and_nothing_is_done() {
    let site = Site::open().await;
    let id = site.docket(NUMBER).await;
    for row in WRONG_CLICKS.trim().lines() {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let reply = site
            .click_text(&cells[0].replace("ID", &id), cells[1])
            .await;
        assert_eq!(reply.status.to_string(), cells[2], "{row}: {}", reply.body);
        assert!(reply.error().contains(cells[3]), "{row}: {}", reply.body);
    }
    assert_eq!(site.get("/entries/1").await.status, 404);
    assert_eq!(site.mock.entry(&id).unwrap().entry.attempts, 0);
    assert!(site.mock.changes(0).orders.is_empty());
    let call = json!({"from_agent_name": "renewals", "to_phone_number": NUMBER});
    let call = site.ask("POST /make_call", &call.to_string()).await.json();
    let end = format!("/entries/{}/end", call["task_id"].as_str().unwrap());
    let busy = json!({"attempt": 1, "status": "BUSY"});
    assert_eq!(site.click(&end, &busy).await.status, 204);
    assert_eq!(site.click(&end, &busy).await.status, 422, "it is over");
}
