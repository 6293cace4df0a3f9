//! The control of a mock: access, the page's content, and the API.

use std::sync::Arc;

use super::*;
use voice_calling_mock::{Control, Pace};

/// A mock, its control, and clients of both.
struct Site {
    mock: Arc<MockService>,
    service: Client,
    control: Client,
    _serving: Control,
}

impl Reply {
    fn error(&self) -> String {
        self.json()["error"].as_str().expect("an error").to_owned()
    }
}

impl Site {
    async fn open() -> Self {
        Self::with(|_| ()).await
    }

    async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let (mock, service) = with(change).await;
        let mock = Arc::new(mock);
        let serving = Control::start(mock.clone(), ([127, 0, 0, 1], 0).into()).await;
        let serving = serving.expect("a control");
        let http = service.http.clone();
        let control = Client {
            http,
            base_url: serving.url().to_owned(),
            token: String::new(),
        };
        Self {
            mock,
            service,
            control,
            _serving: serving,
        }
    }

    async fn get(&self, path: &str) -> Reply {
        self.control.send(&format!("GET {path}"), &[], "").await
    }

    async fn act(&self, path: &str, body: &Value) -> Reply {
        self.act_text(path, &body.to_string()).await
    }

    async fn act_text(&self, path: &str, body: &str) -> Reply {
        let json = ("content-type", "application/json");
        let headers = [("origin", &*self.control.base_url), json];
        let head = format!("POST {path}");
        self.control.send(&head, &headers, body).await
    }

    async fn docket(&self, number: &str) -> String {
        let context = json!({"token": self.mock.token()}).to_string();
        let body = body_for(number).replace(CONTEXT, &context);
        self.service.docket(&body).await
    }

    /// Returns the first events, up to one that satisfies `enough`.
    async fn events(&self, enough: impl Fn(&Value) -> bool) -> Vec<Value> {
        let request = Request::get(format!("{}/events", self.control.base_url));
        let request = request.body(Full::default()).expect("request");
        let reply = soon(self.control.http.request(request)).await;
        let reply = reply.expect("an answer");
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

    async fn changes(&self) -> Value {
        self.get("/changes").await.json()
    }
}

#[tokio::test]
async fn only_the_page_s_own_address_is_served_and_another_site_cannot_click() {
    let site = Site::open().await;
    let id = site.docket(NUMBER).await;
    let own = site.control.base_url.strip_prefix("http://").unwrap();
    let port = own.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "127.0.0.2", "localhost", "[::1]"] {
        let host = [("host", &*format!("{host}:{port}"))];
        assert_eq!(site.control.send("GET /", &host, "").await.status, 200);
    }
    let (foreign, rebound) = ("rebound.example", "127.0.0.1.rebound.example");
    for host in [
        format!("{foreign}:{port}"),
        format!("{rebound}:{port}"),
        "127.0.0.1:1".to_owned(),
    ] {
        for path in ["/", "/page.js", "/events", "/nothing"] {
            let host = [("host", &*host)];
            let reply = site.control.send(&format!("GET {path}"), &host, "").await;
            let found = format!("Host is {:?}", host[0].1);
            assert!(
                reply.status == 403 && reply.error().contains(&found),
                "{path}"
            );
        }
    }
    let body = json!({"attempt": 1, "status": "BUSY"}).to_string();
    for origin in ["http://evil.example", "http://127.0.0.1:1", "null"] {
        for path in ["/reset", "/nothing", &format!("/entries/{id}/end")] {
            let headers = [("origin", origin), ("content-type", "application/json")];
            let head = format!("POST {path}");
            let reply = site.control.send(&head, &headers, &body).await;
            assert_eq!(reply.status, 403, "{path}");
            assert!(reply.error().contains(origin), "{}", reply.text());
        }
    }
    assert_eq!(site.mock.entry(&id).unwrap().entry.attempts, 0);
}

#[tokio::test]
async fn every_answer_has_the_policy_also_those_that_refuse() {
    let site = Site::open().await;
    let replies = [
        site.get("/").await,
        site.get("/page.js").await,
        site.get("/nothing").await,
        site.act("/faults", &Value::Null).await,
        site.control
            .send("POST /faults", &[("origin", "null")], "")
            .await,
        site.control.send("GET /", &[("host", "x")], "").await,
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
    let wherever = format!("GET /{token}?t={token}");
    let right = [("auth_token", &*site.service.token)];
    site.service.send(&wherever, &right, &token).await;
    let wrong = [
        ("auth_token", "Bearer of-another-service"),
        ("authorization", "Basic another-secret"),
        ("x-copy", &*token),
    ];
    site.service.send("GET /api/v1/agents", &wrong, "").await;
    let mut shown = vec![site.changes().await.to_string()];
    for path in [
        &format!("/entries/{id}"),
        "/requests/1",
        "/requests/2",
        "/requests/3",
    ] {
        shown.push(site.get(path).await.text());
    }
    for text in &shown {
        for secret in [&*token, "of-another-service", "another-secret"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert!(text.contains("[api token]"), "{text}");
    }
}

#[tokio::test]
async fn a_token_that_could_be_part_of_any_word_leaves_what_is_shown_as_it_is() {
    let site = Site::with(|options| options.tokens = vec!["a".to_owned()]).await;
    site.docket(NUMBER).await;
    let changes = site.changes().await;
    assert_eq!(changes["entries"][0]["agent"], "renewals");
    assert_eq!(changes["requests"][0]["path"], V2);
    let request = site.get("/requests/1").await.text();
    assert!(
        request.contains(r#"["auth_token","[api token]"]"#),
        "{request}"
    );
}

#[tokio::test]
async fn the_first_event_has_everything_and_the_others_what_changes() {
    let site = Site::open().await;
    let first = site.docket(NUMBER).await;
    let second = site.docket("919876543211").await;
    let others = async {
        loop {
            site.docket("919876543212").await;
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
const WRONG_ACTS: &str = r#"
    /entries/ID/end | {"attempt":1} | 422 | missing field `status`
    /entries/ID/end | {"attempt":"1","status":"BUSY"} | 422 | attempt: invalid type
    /entries/ID/end | {"attempt":1,"status":"GONE"} | 422 | unknown variant `GONE`
    /entries/ID/end | {"attempt":1,"status":"ANSWERED","second":1} | 422 | unknown field `second`
    /entries/ID/end | {"attempt":1,"status":"ANSWERED","seconds":-1} | 422 | seconds is -1; allowed:
    /entries/ID/end | {"attempt":1,"status":"ANSWERED","metadata":[]} | 422 | metadata: expected a JSON object, found []
    /entries/ID/end | {"attempt":1,"status":"ANSWERED","interest":1} | 422 | interest: invalid type
    /entries/ID/end | {"attempt":2,"status":"BUSY"} | 422 | attempt 2 does not ring
    /entries/1/end | {"attempt":1,"status":"BUSY"} | 422 | no docket or direct call has the id "1"
    /entries/%FF/end | {"attempt":1,"status":"BUSY"} | 422 | no docket or direct call has the id "%FF"
    /faults | {"order":"dial:503"} | 422 | "dial" is not an endpoint
    /faults | {"order":"make-call:teapot"} | 422 | "teapot" is not a fault
    /faults | {"order":"webhook:late:by=1"} | 422 | allowed: retry-after=VALUE, delay-ms=NUMBER
    /clock | {"advance_ms":-1} | 422 | advance_ms: invalid value
    /clock | {"advance_ms":18446744073709551615} | 422 | at most 100 years
    /nothing | {} | 404 | not found
"#;

#[tokio::test]
async fn what_is_wrong_with_an_act_is_named_and_nothing_is_done() {
    let site = Site::open().await;
    let id = site.docket(NUMBER).await;
    for [path, body, status, error] in rows(WRONG_ACTS) {
        let reply = site.act_text(&path.replace("ID", &id), body).await;
        assert_eq!(reply.status.to_string(), status, "{body}: {}", reply.text());
        assert!(reply.error().contains(error), "{body}: {}", reply.text());
    }
    assert_eq!(site.get("/entries/1").await.status, 404);
    let reset = site.get("/reset").await;
    assert_eq!(reset.status, 405);
    assert!(reset.error().contains("the method is GET"));
    assert_eq!(site.mock.entry(&id).unwrap().entry.attempts, 0);
    assert!(site.mock.changes(0).orders.is_empty());
    let end = format!("/entries/{}/end", site.service.call().await);
    let busy = json!({"attempt": 1, "status": "BUSY"});
    assert_eq!(site.act(&end, &busy).await.status, 204);
    assert_eq!(site.act(&end, &busy).await.status, 422, "it is over");
}

#[tokio::test]
async fn beyond_this_machine_any_host_is_served_and_other_sites_cannot_click() {
    let (mock, _client) = with(|_| ()).await;
    let any = ([0, 0, 0, 0], 0).into();
    let serving = Control::start(Arc::new(mock), any).await.unwrap();
    assert!(serving.url().starts_with("http://127.0.0.1:"));
    let control = Client {
        http: HttpClient::builder(TokioExecutor::new()).build_http(),
        base_url: serving.url().to_owned(),
        token: String::new(),
    };
    let by_name = ("host", "mock:8081");
    let reply = control.send("GET /health", &[by_name], "").await;
    assert_eq!(reply.json()["status"], "ok");
    let foreign = [by_name, ("origin", "http://evil.example")];
    assert_eq!(control.send("POST /reset", &foreign, "").await.status, 403);
    let own = [by_name, ("origin", "http://mock:8081")];
    assert_eq!(control.send("POST /reset", &own, "").await.status, 204);
}

#[tokio::test]
async fn a_test_orders_a_fault_ends_a_call_and_reads_what_was_delivered() {
    let receiver = receiver().await;
    let webhook = notifying(&receiver).webhook;
    let site = Site::with(|options| options.webhook = webhook).await;
    let order = json!({"order": "create-docket-v2:created-then-503"});
    assert_eq!(site.act("/faults", &order).await.status, 204);
    assert_eq!(site.service.post(V2, &docket_body()).await.status, 503);
    let all = site.changes().await;
    let id = all["entries"][0]["id"].as_str().unwrap();
    let answered = json!({"status": "ANSWERED", "disposition": "CALL_BACK"});
    let end = format!("/entries/{id}/end");
    assert_eq!(site.act(&end, &answered).await.status, 204);
    soon(site.mock.delivered(1)).await;
    let delivered = site.get("/deliveries").await.json()[0].take();
    assert_eq!(
        (&delivered["docket_id"], &delivered["status"]),
        (&all["entries"][0]["id"], &json!(204))
    );
    let body = parsed(delivered["body"].as_str().unwrap());
    assert_eq!(body["call_insights"]["call_disposition"], "CALL_BACK");
    let since = format!("/changes?since={}", all["sequence"]);
    let changed = site.get(&since).await.json();
    assert_eq!(changed["entries"][0]["status"], "COMPLETED");
    assert_eq!(changed["requests"], json!([]));
    assert_eq!(site.get("/changes?since=x").await.status, 422);
}

#[tokio::test]
async fn an_advanced_clock_ends_the_calls_whose_time_has_come() {
    let hour = Duration::from_secs(3600);
    let site = Site::with(|options| options.pace = Pace::Every(hour)).await;
    let id = site.service.docket(&docket_body()).await;
    let rings = site.service.docket(&body_for("447700900004")).await;
    let entries = site.changes().await["entries"].take();
    let by_hand = |index: usize| &entries[index]["ringing"]["by_hand"];
    assert_eq!((by_hand(0), by_hand(1)), (&json!(false), &json!(true)));
    let one_hour = json!({"advance_ms": 3_600_000});
    let advanced = site.act("/clock", &one_hour).await.json();
    let once = site.service.fetch(&id).await;
    assert_eq!(
        (&once["status"], &once["outbound_call_count"]),
        (&json!("IN_PROGRESS"), &json!(1))
    );
    let two_hours = json!({"advance_ms": 7_200_000});
    let later = site.act("/clock", &two_hours).await.json();
    let passed = later["now_ms"].as_u64().unwrap() - advanced["now_ms"].as_u64().unwrap();
    assert!((7_200_000..7_300_000).contains(&passed), "{passed}");
    let docket = site.service.fetch(&id).await;
    assert_eq!(
        (&docket["status"], &docket["outbound_call_count"]),
        (&json!("COMPLETED"), &json!(2))
    );
    let entry = site.mock.entry(&id).unwrap();
    let timeline = entry.timeline.iter();
    let ended: Vec<_> = timeline.filter(|it| it.text.contains("ended")).collect();
    assert_eq!(
        ended[1].at_ms - ended[0].at_ms,
        3_600_000,
        "on time, not when it was noticed"
    );
    assert_eq!(site.service.fetch(&rings).await["status"], "OPEN");
}

#[tokio::test]
async fn a_reset_mock_knows_nothing_of_what_was() {
    let site = Site::open().await;
    let id = site.service.docket(&docket_body()).await;
    site.service
        .post("/agents/", r#"{"agent_name": "surveys"}"#)
        .await;
    site.act("/faults", &json!({"order": "make-call:503"}))
        .await;
    assert_eq!(site.act("/reset", &Value::Null).await.status, 204);
    let all = site.changes().await;
    assert_eq!(all["resets"], 1);
    for list in ["entries", "requests", "orders"] {
        assert_eq!(all[list], json!([]), "{list}");
    }
    assert_eq!(site.service.get(&format!("{V1}/{id}")).await.status, 404);
    let agents = site
        .service
        .get("/api/v1/agents?organizationId=org-1")
        .await;
    assert_eq!(agents.json().as_array().unwrap().len(), 2);
    site.service.call().await;
    assert_eq!(site.changes().await["requests"][0]["n"], 3);
}

#[tokio::test]
async fn every_endpoint_of_the_page_of_the_mock_is_served() {
    let site = Site::open().await;
    let id = site.docket(NUMBER).await;
    let page = include_str!("../../../docs/mock.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let heads = rows.filter_map(|row| Some(row.split_once('`')?.0));
    let is_head = |head: &&str| {
        ["GET /", "POST /", "DELETE /"]
            .iter()
            .any(|it| head.starts_with(it))
    };
    let mut count = 0;
    for head in heads.filter(is_head) {
        let head = head.replace("{id}", &id).replace("{n}", "1");
        let head = head.replace("{sequence}", "0");
        if head == "GET /events" {
            assert_eq!(site.events(|_| true).await.len(), 1);
        } else {
            let reply = site.control.send(&head, &[], "").await;
            // Without a body: only an act that takes one is refused, for that.
            assert!(
                [200, 204, 415].contains(&reply.status),
                "{head}: {}",
                reply.status
            );
        }
        count += 1;
    }
    assert_eq!(count, 11);
}
