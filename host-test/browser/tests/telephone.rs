//! The behaviour of the mock's page that only a browser shows. The page's own tests cover its data
//! and the effect of clicks.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use bytes::Bytes;
use fantoccini::Locator;
use fantoccini::key::Key;
use futures_util::{StreamExt, stream};
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use voice_calling_browser::{Browser, Colours};
use voice_calling_mock::{Agent, MockService, Options, WebhookOptions, WebhookReceiver};
use voice_calling_page::Page;

const NUMBER: &str = "919876543210";
const CONTEXT: &str =
    r#"{"reference":"crm-1001","name":"Asha Verma","policy":12345678901234567890}"#;

/// The time limit for a webhook on a busy machine.
const WEBHOOK_LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_docket_rings_and_is_answered_by_click() {
    let mut stage = Stage::open().await;
    let created = stage.create(NUMBER, CONTEXT).await;
    let page = &stage.browser;
    page.until("document.querySelector('.card')").await;
    let card = page.read("document.querySelector('.card').innerText").await;
    let card = card.to_string();
    for part in [
        NUMBER,
        "renewals",
        "attempt 1",
        "Asha Verma",
        "12345678901234567890",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }

    page.click(".card [data-do=answer]").await;
    let metadata = r#"{"renewal":98765432109876543210,"amount":0.10,"tag":"<b>"}"#;
    for (field, text) in [
        ("disposition", "CALL_BACK"),
        ("interest", "UNKNOWN"),
        ("next_action", "REDIAL"),
        ("seconds", "17.5"),
        ("metadata", metadata),
    ] {
        let field = format!(".card [name={field}]");
        let field = page.element(&field).await;
        field.send_keys(text).await.unwrap();
    }
    page.click(".card .stop").await;

    let body = stage.receiver.next(WEBHOOK_LIMIT).await.unwrap();
    let webhook: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(webhook["docket_id"], created);
    assert_eq!(webhook["call_insights"]["call_disposition"], "CALL_BACK");
    assert_eq!(webhook["attempts"][0]["call_duration"], 17.5);
    assert!(body.contains(metadata), "digit by digit: {body}");

    let page = &stage.browser;
    page.until("!document.querySelector('.card')").await;
    let dashboard = webhook["dashboard_url"].as_str().expect("an address");
    page.open(dashboard).await;
    let webhook_came =
        "document.querySelector('#timeline [data-kind=webhook] .tag')?.innerText === '200'";
    page.until(webhook_came).await;
    stage.end().await;
}

#[tokio::test]
async fn the_keyboard_finds_a_phone_and_says_that_it_is_busy() {
    let stage = Stage::open().await;
    stage.create(NUMBER, CONTEXT).await;
    let page = &stage.browser;
    page.until("document.querySelector('.card')").await;
    let mut presses = 0;
    while page.read("document.activeElement.matches('.card')").await == false {
        presses += 1;
        assert!(presses < 4, "the first phone is not among the first stops");
        page.press(&Key::Tab.to_string()).await;
    }
    page.press("b").await;
    page.until("document.querySelector('.card .attempt')?.innerText === 'attempt 2'")
        .await;
    let last = "document.querySelector('#docket-table .last').innerText === 'busy'";
    page.until(last).await;
    let focus = "document.activeElement.matches('#phones-title, .card')";
    assert_eq!(page.read(focus).await, true, "the focus is lost");
    stage.end().await;
}

#[tokio::test]
async fn every_fault_on_the_page_is_ordered_for_its_endpoint_and_cleared() {
    let stage = Stage::open().await;
    let page = &stage.browser;
    page.click("[data-fault='429']").await;
    page.until("document.querySelector('#orders li')?.innerText === '429 with Retry-After 2 · any endpoint'")
        .await;
    page.click("#clear").await;
    page.until("!document.querySelector('#orders li')").await;
    let endpoint = page.element("#endpoint").await;
    endpoint.select_by_label("make-call").await.unwrap();
    let buttons = page.client().find_all(Locator::Css("button.fault"));
    let buttons = buttons.await.unwrap();
    for (button, number) in buttons.iter().zip(1..) {
        button.click().await.unwrap();
        let orders = format!("document.querySelectorAll('#orders li').length === {number}");
        page.until(&orders).await;
    }
    let orders = page.read("document.getElementById('orders').innerText");
    let orders = orders.await.to_string();
    assert_eq!(orders.matches("make-call").count(), 5, "{orders}");
    for order in ["503", "429", "unanswered", "hang", "first", "lost", "twice"] {
        assert!(orders.contains(order), "{order}: {orders}");
    }
    page.click("#clear").await;
    page.until("!document.querySelector('#orders li')").await;
    stage.end().await;
}

#[tokio::test]
async fn a_duplicate_is_marked_and_requests_are_filtered_and_opened() {
    let stage = Stage::open().await;
    let page = &stage.browser;
    stage.create(NUMBER, CONTEXT).await;
    stage.create(NUMBER, CONTEXT).await;
    for table in ["docket", "request"] {
        let mark = format!("document.querySelector('#{table}-table tr.repeats .duplicate')");
        page.until(&format!("{mark}?.innerText === 'duplicate'"))
            .await;
    }
    let marked = "document.querySelectorAll('#docket-table tr.repeats').length";
    assert_eq!(page.read(marked).await, 1, "the first one is none");
    page.click("#docket-table tr.repeats a").await;
    page.until("!document.getElementById('docket-repeats').hidden")
        .await;
    page.client().back().await.unwrap();
    page.until("document.getElementById('docket').hidden").await;

    let shown =
        |text: &str| format!("document.getElementById('requests-count').innerText === '{text}'");
    let filter = page.element("#request-filter").await;
    filter.send_keys("duplicate").await.unwrap();
    page.until(&shown("1 of 2")).await;
    page.click("#request-table button").await;
    page.until("!document.getElementById('request').hidden")
        .await;
    let text = "document.getElementById('request-body').textContent";
    let text = page.read(text).await.to_string();
    assert!(text.contains("auth_token") && text.contains("12345678901234567890"));
    page.press(&Key::Escape.to_string()).await;
    page.until("document.getElementById('request').hidden")
        .await;
    let focused = "document.activeElement.closest('#request-table') !== null";
    assert_eq!(page.read(focused).await, true, "the focus is back");
    stage.end().await;
}

#[tokio::test]
async fn markup_from_outside_stays_text() {
    let markup =
        "<img src=x id=injected onerror=window.injected=1><script>window.injected=1</script>";
    let mut options = Options::default();
    options.agents.push(Agent::new(9, markup, "+911140000009"));
    let stage = Stage::with(options).await;
    let page = &stage.browser;
    let call = json!({
        "from_agent_name": markup, "to_phone_number": markup,
        "extra_config": {"call_context": {markup: markup}},
    });
    stage.post("/make_call", &call).await;
    page.until("document.querySelector('.card')").await;
    let shown = [
        ".card .number",
        ".card .agent",
        ".card .context dt",
        ".card .context dd",
        "#docket-table .number",
        "#docket-table .agent",
    ];
    for place in shown {
        let text = format!("document.querySelector('{place}').textContent");
        assert_eq!(page.read(&text).await, markup, "{place}");
    }
    page.click("#docket-table a").await;
    page.until("document.querySelector('#timeline li')").await;
    page.click("#request-table button").await;
    page.until("!document.getElementById('request').hidden")
        .await;
    for place in [
        "docket-title",
        "docket-facts",
        "docket-context",
        "request-body",
    ] {
        let text = format!("document.getElementById('{place}').textContent");
        let text = page.read(&text).await;
        assert!(
            text.as_str().unwrap().contains("<img src=x"),
            "{place}: {text}"
        );
    }
    let made = "document.querySelectorAll('#injected, body script, [onerror]').length";
    assert_eq!(page.read(made).await, 0);
    assert_eq!(page.read("window.injected === undefined").await, true);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_ten_thousand_dockets_the_newest_are_listed_and_the_filter_finds_the_others() {
    let stage = Stage::open().await;
    let numbers = (0..10_000).map(|n| format!("91{n:010}"));
    let created = stream::iter(numbers).map(|number| stage.create(number, CONTEXT));
    assert_eq!(created.buffer_unordered(32).count().await, 10_000);
    let page = &stage.browser;
    page.open(stage.page.url()).await;
    page.until("document.getElementById('dockets-count').innerText === '10,000'")
        .await;
    let rows = "document.querySelectorAll('#docket-table tbody tr').length";
    assert_eq!(page.read(rows).await, 500);
    let rest = "document.getElementById('more-dockets').innerText";
    let text = page.read(rest).await;
    assert_eq!(text, "9,500 older ones: the filter finds them.");

    page.element("#docket-filter")
        .await
        .send_keys("910000004321")
        .await
        .unwrap();
    page.until("document.getElementById('dockets-count').innerText === '1 of 10,000'")
        .await;
    assert_eq!(page.read(rows).await, 1);
    stage.end().await;
}

#[tokio::test]
async fn the_focus_stays_on_its_docket_when_another_one_comes() {
    let stage = Stage::open().await;
    for n in 0..30 {
        stage.create(format!("9198765432{n:02}"), CONTEXT).await;
    }
    let page = &stage.browser;
    page.until("document.getElementById('dockets-count').innerText === '30'")
        .await;
    page.read("document.querySelector('#docket-table a').focus()")
        .await;
    for _ in 0..3 {
        page.press(&Key::Down.to_string()).await;
    }
    let focused = "document.activeElement.textContent";
    assert_eq!(page.read(focused).await, "919876543226");
    stage.create("919876543299", CONTEXT).await;
    page.until("document.getElementById('dockets-count').innerText === '31'")
        .await;
    assert_eq!(page.read(focused).await, "919876543226");
    page.press(&Key::End.to_string()).await;
    assert_eq!(page.read(focused).await, "919876543200");
    page.press(&Key::Enter.to_string()).await;
    page.until("document.getElementById('docket-title').innerText === '919876543200'")
        .await;
    stage.end().await;
}

#[tokio::test]
async fn new_rings_are_announced_to_screen_readers() {
    let stage = Stage::open().await;
    let page = &stage.browser;
    let live = page
        .read("document.getElementById('announcements').ariaLive")
        .await;
    assert_eq!(live, "polite");
    stage.create(NUMBER, CONTEXT).await;
    let said = "document.getElementById('announcements').textContent";
    page.until(&format!("{said}.includes('{NUMBER}')")).await;
    for n in 0..3 {
        stage.create(format!("91987654320{n}"), CONTEXT).await;
    }
    page.until(&format!("{said} === '3 phones ring'")).await;
    stage.end().await;
}

#[tokio::test]
async fn a_page_whose_mock_has_ended_says_so_and_begins_anew_with_the_next_one() {
    let stage = Stage::open().await;
    stage.create(NUMBER, CONTEXT).await;
    stage.browser.until("document.querySelector('.card')").await;
    let port = stage
        .page
        .url()
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    stage.page.stop().await;
    let page = &stage.browser;
    page.until("document.getElementById('link').innerText === 'Disconnected'")
        .await;
    assert_eq!(
        page.read("document.getElementById('lost').hidden").await,
        false
    );

    let mock = Arc::new(MockService::start(Options::default()).await.unwrap());
    let next = Page::start(mock, port).await.unwrap();
    page.until(
        "document.getElementById('link').innerText === 'Live' && !document.querySelector('.card')",
    )
    .await;
    next.stop().await;
}

#[tokio::test]
async fn everything_on_the_page_has_a_name_and_enough_contrast() {
    let stage = Stage::open().await;
    stage.furnish().await;
    let page = &stage.browser;
    let look = include_str!("accessibility.js");
    for colours in [Colours::Light, Colours::Dark] {
        page.prefer(colours).await;
        let problems = page.client().execute(look, Vec::new()).await.unwrap();
        assert_eq!(problems, json!([]), "{colours:?}");
    }
    stage.open_everything().await;
    for colours in [Colours::Light, Colours::Dark] {
        page.prefer(colours).await;
        let problems = page.client().execute(look, Vec::new()).await.unwrap();
        assert_eq!(problems, json!([]), "everything is open, {colours:?}");
    }
    let unnamed = "document.getElementById('close-request').replaceChildren()";
    page.read(unnamed).await;
    let problems = page.client().execute(look, Vec::new()).await.unwrap();
    assert!(problems[0].to_string().contains("no name"), "{problems}");
    stage.end().await;
}

#[tokio::test]
async fn the_page_is_drawn_light_dark_and_narrow() {
    let stage = Stage::open().await;
    stage.furnish().await;
    let mut pictures = vec![draw(&stage, "light", Colours::Light, 1440, 900).await];
    stage.open_everything().await;
    pictures.push(draw(&stage, "dark", Colours::Dark, 1440, 1200).await);
    pictures.push(draw(&stage, "narrow", Colours::Light, 420, 900).await);
    if let Some(folder) = env::var_os("PAGE_PICTURES") {
        for (name, webp) in pictures {
            assert!(webp.len() < 150_000, "{name}: {} bytes", webp.len());
            let file = format!("page-{name}.webp");
            fs::write(PathBuf::from(&folder).join(file), webp).unwrap();
        }
    }
    stage.end().await;
}

async fn draw<'a>(
    stage: &Stage,
    name: &'a str,
    colours: Colours,
    width: u32,
    height: u32,
) -> (&'a str, Vec<u8>) {
    let page = &stage.browser;
    page.prefer(colours).await;
    page.resize(width, height).await;
    let ground = "getComputedStyle(document.body).backgroundColor";
    let ground = page.read(ground).await;
    let is_dark = ground.as_str().unwrap().starts_with("rgb(16,");
    assert_eq!(is_dark, colours == Colours::Dark, "{name}: {ground}");
    let overflow = "document.documentElement.scrollWidth - innerWidth";
    let overflow = page.read(overflow).await;
    assert!(overflow.as_i64() <= Some(0), "{name} is cut at the right");
    (name, page.picture().await)
}

/// A mock with its page in a browser, and the receiver of its webhook.
struct Stage {
    mock: Arc<MockService>,
    page: Page,
    browser: Browser,
    receiver: WebhookReceiver,
    http: Client<HttpConnector, Full<Bytes>>,
}

impl Stage {
    async fn open() -> Self {
        Self::with(Options::default()).await
    }

    async fn with(options: Options) -> Self {
        let receiver = WebhookReceiver::start().await.expect("a receiver");
        let options = Options {
            webhook: Some(WebhookOptions::to(receiver.url())),
            ..options
        };
        let mock = Arc::new(MockService::start(options).await.expect("the mock"));
        let page = Page::start(mock.clone(), 0).await.expect("the page");
        let browser = Browser::start().await.expect("Chromium");
        browser.open(page.url()).await;
        let live = "document.getElementById('link').innerText === 'Live'";
        browser.until(live).await;
        Self {
            mock,
            page,
            browser,
            receiver,
            http: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    /// Creates a docket at the mock, and returns its id.
    async fn create(&self, number: impl AsRef<str>, context: &str) -> String {
        let context: Value = serde_json::from_str(context).expect("JSON");
        self.docket(7, number.as_ref(), &context).await
    }

    async fn docket(&self, agent_id: i64, number: &str, context: &Value) -> String {
        let docket = json!({
            "agent_id": agent_id, "to_phone_number": number,
            "external_id": context["reference"], "extra_config": {"call_context": context},
        });
        loop {
            let created = self.post("/api/v2/dockets", &docket).await;
            // Retried after a 503, as clients do.
            if let Some(id) = created["docket_id"].as_str() {
                return id.to_owned();
            }
        }
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let request = Request::post(format!("{}{path}", self.mock.base_url()))
            .header("auth_token", format!("Bearer {}", self.mock.token()))
            .header("content-type", "application/json")
            .body(Full::from(body.to_string()))
            .expect("a request");
        let answer = self.http.request(request).await.expect("an answer");
        let body = answer.into_body().collect().await.expect("a body");
        serde_json::from_slice(&body.to_bytes()).expect("JSON")
    }

    /// Fills each part of the page: dockets that have ended, a fault, three phones of which one is
    /// a duplicate, and orders.
    async fn furnish(&self) {
        let page = &self.browser;
        for (number, name, agent_id, ends) in [
            (
                "919812300017",
                "Meera Nair",
                8,
                ["BUSY", "NO_ANSWER"].as_slice(),
            ),
            ("919812300024", "Imran Sheikh", 7, &["NO_ANSWER", "answer"]),
            ("919812300031", "Kavya Rao", 8, &["answer"]),
            ("919812300048", "Arjun Mehta", 7, &["BUSY", "answer"]),
        ] {
            let context = json!({"name": name, "due": "2026-12-01", "amount": 1250});
            self.docket(agent_id, number, &context).await;
            for (end, attempt) in ends.iter().zip(1..) {
                let rings = format!(
                    "document.querySelector('.card .attempt')?.innerText === 'attempt {attempt}'"
                );
                page.until(&rings).await;
                page.click(&format!(".card [data-do={end}]")).await;
                if *end == "answer" {
                    page.click(".card .stop").await;
                }
            }
            let is_over = "!document.querySelector('.card')
                && document.querySelector('#docket-table .status').innerText === 'completed'";
            page.until(is_over).await;
        }
        page.click("[data-fault='503']").await;
        page.until("document.querySelector('#orders li')").await;
        for (number, name) in [
            ("919876500011", "Asha Verma"),
            ("919876500028", "Ravi Kumar"),
            ("919876500028", "Ravi Kumar"),
        ] {
            let reference = format!("crm-10{}", &number[10..]);
            let context = json!({"reference": reference, "name": name, "amount_due": 12345.5});
            self.docket(7, number, &context).await;
        }
        page.until("document.querySelectorAll('.card').length === 3")
            .await;
        page.click("[data-fault='429']").await;
        page.click("[data-delivery=twice]").await;
        page.until("document.querySelectorAll('#orders li').length === 2")
            .await;
    }

    /// Opens the details behind clicks: a docket, a request, the form of an answered phone.
    async fn open_everything(&self) {
        let page = &self.browser;
        page.click("#docket-table tbody tr:nth-child(4) a").await;
        page.until("document.querySelector('#timeline [data-kind=closed]')")
            .await;
        page.click("#request-table button").await;
        page.until("!document.getElementById('request').hidden")
            .await;
        page.click(".card [data-do=answer]").await;
    }

    async fn end(self) {
        let errors = self.browser.errors().await;
        assert!(errors.is_empty(), "the page's console: {errors:?}");
        self.page.stop().await;
    }
}
