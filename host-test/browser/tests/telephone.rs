//! The mock's page in headless Chromium, with the real component as the service's client.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use std::{env, fs};

use fantoccini::Locator;
use fantoccini::key::Key;
use serde_json::{Value, json};
use voice_calling_browser::{Browser, Colours, picture};
use voice_calling_host::types::{
    CallRequest, CreatedDocketV2, DocketRequestV2, RequestError, StartedCall,
};
use voice_calling_host::{Instance, InstanceSettings, Outgoing, Plugin, Reach, Trust};
use voice_calling_mock::{Agent, MockService, Options, Pace, WebhookOptions, WebhookReceiver};
use voice_calling_page::Page;

const NUMBER: &str = "919876543210";
const CONTEXT: &str =
    r#"{"reference":"crm-1001","name":"Asha Verma","policy":12345678901234567890}"#;

/// How long a webhook may take on a busy machine.
const WEBHOOK_LIMIT: Duration = Duration::from_secs(30);

/// What a page with an open timeline says of a docket.
const TIMELINE: &str = "document.getElementById('timeline').innerText";

#[tokio::test]
async fn a_docket_of_the_component_rings_and_is_answered_by_click() {
    let mut stage = Stage::manual().await;
    let created = stage.create(NUMBER, CONTEXT).await.expect("a docket");
    let page = &stage.browser;
    page.until("document.querySelector('.card')").await.unwrap();
    let card = page.read("document.querySelector('.card').innerText").await;
    let card = card.unwrap().to_string();
    for part in [
        NUMBER,
        "renewals",
        "attempt 1",
        "Asha Verma",
        "12345678901234567890",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }

    page.click(".card [data-do=answer]").await.unwrap();
    let metadata = r#"{"renewal":98765432109876543210,"amount":0.10,"tag":"<b>"}"#;
    for (field, text) in [
        ("disposition", "CALL_BACK"),
        ("interest", "UNKNOWN"),
        ("next_action", "REDIAL"),
        ("seconds", "17.5"),
        ("metadata", metadata),
    ] {
        let field = format!(".card [name={field}]");
        let field = page.element(&field).await.unwrap();
        field.send_keys(text).await.unwrap();
    }
    page.click(".card .stop").await.unwrap();

    let body = stage.receiver.next(WEBHOOK_LIMIT).await.unwrap();
    let webhook: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(webhook["docket_id"], created.docket_id.as_str());
    assert_eq!(webhook["call_insights"]["call_disposition"], "CALL_BACK");
    assert_eq!(webhook["attempts"][0]["call_duration"], 17.5);
    assert!(body.contains(metadata), "digit by digit: {body}");

    let page = &stage.browser;
    page.until("!document.querySelector('.card')")
        .await
        .unwrap();
    let dashboard = webhook["dashboard_url"].as_str().expect("an address");
    page.open(dashboard).await.unwrap();
    let webhook_came =
        "document.querySelector('#timeline [data-kind=webhook] .tag')?.innerText === '200'";
    page.until(webhook_came).await.unwrap();
    let kinds =
        "[...document.querySelectorAll('#timeline li')].map((moment) => moment.dataset.kind)";
    let kinds = page.read(kinds).await.unwrap();
    for kind in ["created", "rings", "ended", "webhook", "closed"] {
        assert!(
            kinds.as_array().unwrap().contains(&json!(kind)),
            "{kind}: {kinds}"
        );
    }
    let timeline = page.read(TIMELINE).await.unwrap().to_string();
    assert!(timeline.contains("ANSWERED"), "{timeline}");
    stage.end().await;
}

#[tokio::test]
async fn a_direct_call_reports_the_interest_and_next_action_that_were_chosen() {
    let stage = Stage::manual().await;
    let started = stage.call("+91 98765 43210", &[("name", "Ravi")]).await;
    let page = &stage.browser;
    page.until("document.querySelector('.card')").await.unwrap();
    page.click(".card [data-do=answer]").await.unwrap();
    for (field, text) in [("interest", "NOT_INTERESTED"), ("next_action", "NONE")] {
        let field = format!(".card [name={field}]");
        let field = page.element(&field).await.unwrap();
        field.send_keys(text).await.unwrap();
    }
    page.press(&Key::Enter.to_string()).await.unwrap();
    page.until("!document.querySelector('.card')")
        .await
        .unwrap();
    let mut instance = stage.instance(&[]).await;
    let details = instance.get_call_details(&started.task_id, None).await;
    let details = details.unwrap().expect("details");
    let insights = details.calls[0].call_insights.as_ref().expect("insights");
    let interest = insights.user_interest.as_ref().expect("an interest");
    let next = insights.next_action.as_ref().expect("a next action");
    assert_eq!(interest.status.as_deref(), Some("NOT_INTERESTED"));
    assert_eq!(next.value.as_deref(), Some("NONE"));
    stage.end().await;
}

#[tokio::test]
async fn a_wrong_entry_in_the_form_is_refused_with_what_is_allowed() {
    let stage = Stage::manual().await;
    stage.create(NUMBER, CONTEXT).await.expect("a docket");
    let page = &stage.browser;
    page.until("document.querySelector('.card')").await.unwrap();
    page.click(".card [data-do=answer]").await.unwrap();
    for (field, wrong, right, allowed) in [
        ("metadata", "[1]", "{}", "a JSON object"),
        ("seconds", "soon", "1", "a number"),
    ] {
        let field = page
            .element(&format!(".card [name={field}]"))
            .await
            .unwrap();
        field.send_keys(wrong).await.unwrap();
        page.click(".card .stop").await.unwrap();
        page.until("!document.querySelector('.card .problem').hidden")
            .await
            .unwrap();
        let problem = page
            .read("document.querySelector('.card .problem').innerText")
            .await;
        let problem = problem.unwrap().to_string();
        assert!(
            problem.contains(wrong) && problem.contains(allowed),
            "{problem}"
        );
        field.clear().await.unwrap();
        field.send_keys(right).await.unwrap();
    }
    page.click(".card .stop").await.unwrap();
    page.until("!document.querySelector('.card')")
        .await
        .unwrap();
    stage.end().await;
}

#[tokio::test]
async fn the_keyboard_finds_a_phone_and_says_that_it_is_busy() {
    let stage = Stage::manual().await;
    stage.create(NUMBER, CONTEXT).await.expect("a docket");
    let page = &stage.browser;
    page.until("document.querySelector('.card')").await.unwrap();
    let mut presses = 0;
    while page
        .read("document.activeElement.matches('.card')")
        .await
        .unwrap()
        == false
    {
        presses += 1;
        assert!(presses < 4, "the first phone is not among the first stops");
        page.press(&Key::Tab.to_string()).await.unwrap();
    }
    page.press("b").await.unwrap();
    page.until("document.querySelector('.card .attempt')?.innerText === 'attempt 2'")
        .await
        .unwrap();
    let last = "document.querySelector('#docket-table .last').innerText === 'busy'";
    page.until(last).await.unwrap();
    let focus = "document.activeElement.matches('#phones-title, .card')";
    assert_eq!(page.read(focus).await.unwrap(), true, "the focus is lost");

    // Left to the script, whose second attempt is answered.
    page.click(".card [data-do=leave]").await.unwrap();
    page.until("document.querySelector('#docket-table .last').innerText === 'answered'")
        .await
        .unwrap();
    stage.end().await;
}

#[tokio::test]
async fn a_503_ordered_by_click_is_survived_by_the_component() {
    let stage = Stage::manual().await;
    let page = &stage.browser;
    page.click("[data-fault='503']").await.unwrap();
    page.until("document.querySelector('#orders li')?.innerText.includes('503')")
        .await
        .unwrap();
    let created = stage.create(NUMBER, CONTEXT).await.expect("a docket");
    page.until("document.querySelector('.card')").await.unwrap();
    assert_eq!(stage.mock.times_rung(NUMBER), 1);
    page.until("!document.querySelector('#orders li')")
        .await
        .unwrap();
    let codes = "[...document.querySelectorAll('#request-table .code')].map((code) => code.innerText).join()";
    page.until(&format!("{codes} === '200,503'")).await.unwrap();
    let duplicates = "[...document.querySelectorAll('.duplicate')].filter((mark) => mark.checkVisibility()).length";
    assert_eq!(page.read(duplicates).await.unwrap(), 0);
    page.click("#docket-table a").await.unwrap();
    page.until(&format!("{TIMELINE}.includes('503')"))
        .await
        .unwrap();
    let address = page.client().current_url().await.unwrap();
    assert_eq!(address.path(), format!("/dockets/{}", created.docket_id));
    page.client().back().await.unwrap();
    page.until("document.getElementById('docket').hidden")
        .await
        .unwrap();
    stage.end().await;
}

#[tokio::test]
async fn a_creation_without_an_answer_is_unknown_to_the_component_and_seen_on_the_page() {
    let stage = Stage::manual().await;
    let page = &stage.browser;
    page.click("[data-fault=created-then-unanswered]")
        .await
        .unwrap();
    page.until("document.querySelector('#orders li')")
        .await
        .unwrap();
    let impatient = [("VOICE_CALLING_ATTEMPT_TIMEOUT_MS", "700")];
    let mut instance = stage.instance(&impatient).await;
    let outcome = instance
        .create_docket_v2(&docket(NUMBER, CONTEXT), None)
        .await;
    let error = outcome.unwrap().expect_err("no answer came");
    assert!(
        matches!(error, RequestError::PermanentOutcomeUnknown(_)),
        "{error:?}"
    );
    page.until("document.querySelector('.card')").await.unwrap();
    page.until("document.querySelector('#request-table .code').innerText === 'none'")
        .await
        .unwrap();
    let fault = page
        .read("document.querySelector('#request-table .fault').innerText")
        .await;
    assert!(fault.unwrap().as_str().unwrap().contains("unanswered"));
    assert_eq!(stage.mock.times_rung(NUMBER), 1);

    // What everyone is afraid of: the same once more.
    stage.create(NUMBER, CONTEXT).await.expect("a docket");
    for table in ["docket", "request"] {
        let mark = format!("document.querySelector('#{table}-table tr.repeats .duplicate')");
        page.until(&format!("{mark}?.innerText === 'duplicate'"))
            .await
            .unwrap();
    }
    let marked = "document.querySelectorAll('#docket-table tr.repeats').length";
    assert_eq!(page.read(marked).await.unwrap(), 1, "the first one is none");
    page.click("#docket-table tr.repeats a").await.unwrap();
    page.until("!document.getElementById('docket-repeats').hidden")
        .await
        .unwrap();
    stage.end().await;
}

#[tokio::test]
async fn every_fault_on_the_page_is_ordered_for_its_endpoint_and_cleared() {
    let stage = Stage::manual().await;
    let page = &stage.browser;
    let endpoint = page.element("#endpoint").await.unwrap();
    endpoint.select_by_label("make-call").await.unwrap();
    let buttons = page.client().find_all(Locator::Css("button.fault"));
    let buttons = buttons.await.unwrap();
    for (button, number) in buttons.iter().zip(1..) {
        button.click().await.unwrap();
        let orders = format!("document.querySelectorAll('#orders li').length === {number}");
        page.until(&orders).await.unwrap();
    }
    let orders = page.read("document.getElementById('orders').innerText");
    let orders = orders.await.unwrap().to_string();
    assert_eq!(orders.matches("make-call").count(), 5, "{orders}");
    for order in ["503", "429", "unanswered", "hang", "first", "lost", "twice"] {
        assert!(orders.contains(order), "{order}: {orders}");
    }
    page.click("#clear").await.unwrap();
    page.until("!document.querySelector('#orders li')")
        .await
        .unwrap();
    // Nothing was left for the next request, and this one is for another endpoint.
    page.click("[data-fault='503']").await.unwrap();
    page.until("document.querySelector('#orders li')")
        .await
        .unwrap();
    stage.create(NUMBER, CONTEXT).await.expect("a docket");
    let codes = "[...document.querySelectorAll('#request-table .code')]
        .map((code) => code.innerText).join()";
    page.until(&format!("{codes} === '200'")).await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn requests_are_filtered_and_saved_as_an_archive() {
    let stage = Stage::manual().await;
    stage.create(NUMBER, CONTEXT).await.expect("a docket");
    let mut instance = stage.instance(&[]).await;
    let agents = instance.list_agents("org-1", None).await.unwrap();
    agents.expect("a list of agents");
    let page = &stage.browser;
    let shown =
        |text: &str| format!("document.getElementById('requests-count').innerText === '{text}'");
    page.until(&shown("2")).await.unwrap();
    let kind = page.element("#request-kind").await.unwrap();
    kind.select_by_value("creates").await.unwrap();
    page.until(&shown("1 of 2")).await.unwrap();
    kind.select_by_value("failed").await.unwrap();
    page.until(&shown("0 of 2")).await.unwrap();
    kind.select_by_value("all").await.unwrap();
    let filter = page.element("#request-filter").await.unwrap();
    filter.send_keys("organizationId").await.unwrap();
    page.until(&shown("1 of 2")).await.unwrap();
    let path = "document.querySelector('#request-table .path').innerText";
    let path = page.read(path).await.unwrap();
    assert!(path.as_str().unwrap().contains("/api/v1/agents"), "{path}");

    let save = "const done = arguments[0];
        fetch(document.querySelector('a[download]').href).then((file) => file.json()).then(done);";
    let archive = page.client().execute_async(save, Vec::new()).await.unwrap();
    assert_eq!(archive["log"]["version"], "1.2");
    assert_eq!(archive["log"]["entries"].as_array().unwrap().len(), 2);
    assert!(!archive.to_string().contains(&stage.mock.token()));
    stage.end().await;
}

#[tokio::test]
async fn a_request_is_shown_without_the_token_and_with_every_digit() {
    let stage = Stage::manual().await;
    stage.create(NUMBER, CONTEXT).await.expect("a docket");
    let page = &stage.browser;
    page.until("document.querySelector('#request-table button')")
        .await
        .unwrap();
    page.click("#request-table button").await.unwrap();
    page.until("!document.getElementById('request').hidden")
        .await
        .unwrap();
    let text = page
        .read("document.getElementById('request-body').textContent")
        .await;
    let text = text.unwrap().to_string();
    assert!(text.contains("auth_token"), "{text}");
    assert!(text.contains("12345678901234567890"), "{text}");
    assert!(!text.contains(&stage.mock.token()), "{text}");
    page.press(&Key::Escape.to_string()).await.unwrap();
    page.until("document.getElementById('request').hidden")
        .await
        .unwrap();
    let focused = page
        .read("document.activeElement.closest('#request-table') !== null")
        .await;
    assert_eq!(focused.unwrap(), true, "the focus is back in the list");
    stage.end().await;
}

#[tokio::test]
async fn markup_from_outside_stays_text() {
    let markup =
        "<img src=x id=injected onerror=window.injected=1><script>window.injected=1</script>";
    let mut options = manual();
    options.agents.push(Agent::new(9, markup, "+911140000009"));
    let stage = Stage::with(options).await;
    let page = &stage.browser;
    let mut instance = stage.instance(&[]).await;
    let call = CallRequest {
        from_agent_name: Some(markup.into()),
        to_phone_number: markup.into(),
        call_context: vec![(markup.into(), markup.into())],
        extra: None,
    };
    instance
        .make_call(&call, None)
        .await
        .unwrap()
        .expect("a call");
    page.until("document.querySelector('.card')").await.unwrap();
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
        assert_eq!(page.read(&text).await.unwrap(), markup, "{place}");
    }
    page.click("#docket-table a").await.unwrap();
    page.until("document.querySelector('#timeline li')")
        .await
        .unwrap();
    page.click("#request-table button").await.unwrap();
    page.until("!document.getElementById('request').hidden")
        .await
        .unwrap();
    for place in [
        "docket-title",
        "docket-facts",
        "docket-context",
        "request-body",
    ] {
        let text = format!("document.getElementById('{place}').textContent");
        let text = page.read(&text).await.unwrap();
        assert!(
            text.as_str().unwrap().contains("<img src=x"),
            "{place}: {text}"
        );
    }
    let made = "document.querySelectorAll('#injected, body script, [onerror]').length";
    assert_eq!(page.read(made).await.unwrap(), 0);
    assert_eq!(
        page.read("window.injected === undefined").await.unwrap(),
        true
    );
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_ten_thousand_dockets_only_a_window_is_in_the_page() {
    let stage = Stage::with(Options::default()).await;
    let mut instance = stage
        .instance(&[("VOICE_CALLING_MAX_IN_FLIGHT", "32")])
        .await;
    for thousand in 0..10 {
        let number = |n| format!("91{:010}", thousand * 1000 + n);
        let requests: Vec<_> = (0..1000).map(|n| docket(&number(n), CONTEXT)).collect();
        let results = instance
            .create_dockets_v2(&requests, 300_000, None)
            .await
            .unwrap()
            .expect("a batch");
        assert!(results.iter().all(Result::is_ok));
    }
    let page = &stage.browser;
    let opened = Instant::now();
    page.open(stage.page.url()).await.unwrap();
    page.until("document.getElementById('dockets-count').innerText === '10,000'")
        .await
        .unwrap();
    println!(
        "10,000 dockets are shown {:?} after the page was opened",
        opened.elapsed()
    );
    let scroll = "
        const done = arguments[0];
        const list = document.getElementById('docket-table').parentElement;
        const steps = [];
        let most = 0;
        const step = () => {
            list.scrollTop += 3210;
            const begun = performance.now();
            requestAnimationFrame(() => {
                const drawn = performance.now();
                requestAnimationFrame(() => {
                    steps.push([drawn - begun, performance.now() - begun]);
                    most = Math.max(most, document.querySelectorAll('tbody tr').length);
                    if (steps.length < 100) step();
                    else done({ steps, most, first: document.querySelector('#docket-table tbody tr[aria-rowindex]').ariaRowIndex });
                });
            });
        };
        step();";
    let scrolled = page
        .client()
        .execute_async(scroll, Vec::new())
        .await
        .unwrap();
    let mut steps: Vec<f64> = scrolled["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step[1].as_f64())
        .collect();
    steps.sort_by(f64::total_cmp);
    println!(
        "a step of 3210 pixels and two frames: {:.0} ms at the median, {:.0} ms at most",
        steps[50], steps[99]
    );
    let most = scrolled["most"].as_u64().unwrap();
    println!("rows in the page: {most} at most");
    assert!(most < 200, "{most} rows");
    let first: u64 = scrolled["first"].as_str().unwrap().parse().unwrap();
    assert!(first > 5000, "the list was scrolled to row {first}");
    let rows = page
        .read("document.getElementById('docket-table').ariaRowCount")
        .await;
    assert_eq!(rows.unwrap(), "10001");

    page.element("#docket-filter")
        .await
        .unwrap()
        .send_keys("910000004321")
        .await
        .unwrap();
    page.until("document.getElementById('dockets-count').innerText === '1 of 10,000'")
        .await
        .unwrap();
    stage.end().await;
}

#[tokio::test]
async fn the_focus_stays_on_its_docket_when_another_one_comes() {
    let stage = Stage::manual().await;
    for n in 0..30 {
        stage
            .create(&format!("9198765432{n:02}"), CONTEXT)
            .await
            .expect("a docket");
    }
    let page = &stage.browser;
    page.until("document.getElementById('dockets-count').innerText === '30'")
        .await
        .unwrap();
    page.read("document.querySelector('#docket-table a').focus()")
        .await
        .unwrap();
    for _ in 0..3 {
        page.press(&Key::Down.to_string()).await.unwrap();
    }
    let focused = "document.activeElement.textContent";
    assert_eq!(page.read(focused).await.unwrap(), "919876543226");
    stage
        .create("919876543299", CONTEXT)
        .await
        .expect("a docket");
    page.until("document.getElementById('dockets-count').innerText === '31'")
        .await
        .unwrap();
    assert_eq!(page.read(focused).await.unwrap(), "919876543226");
    page.press(&Key::End.to_string()).await.unwrap();
    assert_eq!(page.read(focused).await.unwrap(), "919876543200");
    let rows = page
        .read("document.activeElement.closest('tr').ariaRowIndex")
        .await;
    assert_eq!(rows.unwrap(), "32");
    page.press(&Key::Enter.to_string()).await.unwrap();
    page.until("document.getElementById('docket-title').innerText === '919876543200'")
        .await
        .unwrap();
    stage.end().await;
}

#[tokio::test]
async fn new_rings_are_announced_to_screen_readers() {
    let stage = Stage::manual().await;
    let page = &stage.browser;
    let live = page
        .read("document.getElementById('announcements').ariaLive")
        .await;
    assert_eq!(live.unwrap(), "polite");
    stage.create(NUMBER, CONTEXT).await.expect("a docket");
    let said = "document.getElementById('announcements').textContent";
    page.until(&format!("{said}.includes('{NUMBER}')"))
        .await
        .unwrap();
    for n in 0..3 {
        stage
            .create(&format!("91987654320{n}"), CONTEXT)
            .await
            .expect("a docket");
    }
    page.until(&format!("{said} === '3 phones ring'"))
        .await
        .unwrap();
    stage.end().await;
}

#[tokio::test]
async fn a_page_whose_mock_has_ended_says_so_and_begins_anew_with_the_next_one() {
    let stage = Stage::manual().await;
    stage.create(NUMBER, CONTEXT).await.expect("a docket");
    stage
        .browser
        .until("document.querySelector('.card')")
        .await
        .unwrap();
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
        .await
        .unwrap();
    assert_eq!(
        page.read("document.getElementById('lost').hidden")
            .await
            .unwrap(),
        false
    );

    let mock = Arc::new(MockService::start(manual()).await.unwrap());
    let next = Page::start(mock, port).await.unwrap();
    page.until(
        "document.getElementById('link').innerText === 'Live' && !document.querySelector('.card')",
    )
    .await
    .unwrap();
    next.stop().await;
}

#[tokio::test]
async fn everything_on_the_page_has_a_name_and_enough_contrast() {
    let stage = Stage::manual().await;
    stage.furnish().await;
    let page = &stage.browser;
    let look = include_str!("accessibility.js");
    for colours in [Colours::Light, Colours::Dark] {
        page.prefer(colours).await.unwrap();
        let problems = page.client().execute(look, Vec::new()).await.unwrap();
        assert_eq!(problems, json!([]), "{colours:?}");
    }
    stage.open_everything().await;
    for colours in [Colours::Light, Colours::Dark] {
        page.prefer(colours).await.unwrap();
        let problems = page.client().execute(look, Vec::new()).await.unwrap();
        assert_eq!(problems, json!([]), "everything is open, {colours:?}");
    }
    let unnamed = "document.getElementById('close-request').replaceChildren()";
    page.read(unnamed).await.unwrap();
    let problems = page.client().execute(look, Vec::new()).await.unwrap();
    assert!(problems[0].to_string().contains("no name"), "{problems}");
    stage.end().await;
}

#[tokio::test]
async fn the_page_is_drawn_light_dark_and_narrow() {
    let stage = Stage::manual().await;
    stage.furnish().await;
    let mut pictures = vec![draw(&stage, "light", Colours::Light, 1440, 900).await];
    stage.open_everything().await;
    pictures.push(draw(&stage, "dark", Colours::Dark, 1440, 1200).await);
    pictures.push(draw(&stage, "narrow", Colours::Light, 420, 900).await);
    if let Some(folder) = env::var_os("PAGE_PICTURES") {
        for (name, png) in pictures {
            let png = picture::with_few_colours(&png).unwrap();
            assert!(png.len() < 150_000, "{name}: {} bytes", png.len());
            fs::write(PathBuf::from(&folder).join(format!("page-{name}.png")), png).unwrap();
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
    page.prefer(colours).await.unwrap();
    page.resize(width, height).await.unwrap();
    let ground = "getComputedStyle(document.body).backgroundColor";
    let ground = page.read(ground).await.unwrap();
    let is_dark = ground.as_str().unwrap().starts_with("rgb(16,");
    assert_eq!(is_dark, colours == Colours::Dark, "{name}: {ground}");
    let overflow = "document.documentElement.scrollWidth - innerWidth";
    let overflow = page.read(overflow).await.unwrap();
    assert!(overflow.as_i64() <= Some(0), "{name} is cut at the right");
    (name, page.picture().await.unwrap())
}

/// A mock with its page in a browser, and the receiver of its webhook.
struct Stage {
    mock: Arc<MockService>,
    page: Page,
    browser: Browser,
    receiver: WebhookReceiver,
}

/// Calls ring until someone ends them, and the next attempt comes soon.
fn manual() -> Options {
    Options {
        manual: true,
        pace: Pace::Every(Duration::from_millis(100)),
        ..Options::default()
    }
}

impl Stage {
    async fn manual() -> Self {
        Self::with(manual()).await
    }

    async fn with(options: Options) -> Self {
        let receiver = WebhookReceiver::start().await;
        let options = Options {
            webhook: Some(WebhookOptions::to(receiver.url())),
            ..options
        };
        let mock = Arc::new(MockService::start(options).await.expect("the mock"));
        let page = Page::start(mock.clone(), 0).await.expect("the page");
        let browser = Browser::start().await.expect("Chromium");
        browser.open(page.url()).await.expect("the page's address");
        let live = "document.getElementById('link').innerText === 'Live'";
        browser.until(live).await.expect("a live page");
        Self {
            mock,
            page,
            browser,
            receiver,
        }
    }

    /// A new instance of the component, as an engine makes one for each call.
    async fn instance(&self, settings: &[(&str, &str)]) -> Instance {
        let (base_url, token) = (self.mock.base_url(), self.mock.token());
        let mut environment = vec![
            ("VOICE_CALLING_BASE_URL", base_url.as_str()),
            ("VOICE_CALLING_API_TOKEN", token.as_str()),
            ("VOICE_CALLING_BACKOFF_MS", "1"),
        ];
        environment.extend(settings);
        let outgoing = Outgoing::within(Reach::Loopback, &Trust::Public).expect("a network");
        let settings = InstanceSettings::new(environment, outgoing);
        plugin().instantiate(settings).await.expect("an instance")
    }

    async fn create(&self, number: &str, context: &str) -> Result<CreatedDocketV2, RequestError> {
        self.send(&docket(number, context)).await
    }

    async fn send(&self, request: &DocketRequestV2) -> Result<CreatedDocketV2, RequestError> {
        let mut instance = self.instance(&[]).await;
        let created = instance.create_docket_v2(request, None).await;
        created.expect("the component runs")
    }

    async fn call(&self, number: &str, context: &[(&str, &str)]) -> StartedCall {
        let variable = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
        let request = CallRequest {
            from_agent_name: Some("collections".into()),
            to_phone_number: number.into(),
            call_context: context.iter().map(variable).collect(),
            extra: None,
        };
        let mut instance = self.instance(&[]).await;
        let started = instance.make_call(&request, None).await;
        started.expect("the component runs").expect("a call")
    }

    /// A page with something in each of its parts: dockets that are over, a fault, three phones of
    /// which one is a duplicate, and orders.
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
            let context = format!(r#"{{"name":"{name}","due":"2026-12-01","amount":1250.00}}"#);
            let request = DocketRequestV2 {
                agent_id,
                ..docket(number, &context)
            };
            self.send(&request).await.expect("a docket");
            for (end, attempt) in ends.iter().zip(1..) {
                let rings = format!(
                    "document.querySelector('.card .attempt')?.innerText === 'attempt {attempt}'"
                );
                page.until(&rings).await.unwrap();
                page.click(&format!(".card [data-do={end}]")).await.unwrap();
                if *end == "answer" {
                    page.click(".card .stop").await.unwrap();
                }
            }
            let is_over = "!document.querySelector('.card')
                && document.querySelector('#docket-table .status').innerText === 'completed'";
            page.until(is_over).await.unwrap();
        }
        page.click("[data-fault='503']").await.unwrap();
        page.until("document.querySelector('#orders li')")
            .await
            .unwrap();
        for (number, name) in [
            ("919876500011", "Asha Verma"),
            ("919876500028", "Ravi Kumar"),
            ("919876500028", "Ravi Kumar"),
        ] {
            let reference = format!("crm-10{}", &number[10..]);
            let context = format!(
                r#"{{"reference":"{reference}","name":"{name}","policy":12345678901234567890,"amount_due":12345.10}}"#
            );
            let request = DocketRequestV2 {
                external_id: Some(reference),
                ..docket(number, &context)
            };
            self.send(&request).await.expect("a docket");
        }
        page.until("document.querySelectorAll('.card').length === 3")
            .await
            .unwrap();
        page.click("[data-fault='429']").await.unwrap();
        page.click("[data-delivery=twice]").await.unwrap();
        page.until("document.querySelectorAll('#orders li').length === 2")
            .await
            .unwrap();
    }

    /// Opens what a click opens: a docket, a request, the form of an answered phone.
    async fn open_everything(&self) {
        let page = &self.browser;
        page.click("#docket-table tr[aria-rowindex='5'] a")
            .await
            .unwrap();
        page.until("document.querySelector('#timeline [data-kind=closed]')")
            .await
            .unwrap();
        page.click("#request-table button").await.unwrap();
        page.until("!document.getElementById('request').hidden")
            .await
            .unwrap();
        page.click(".card [data-do=answer]").await.unwrap();
    }

    async fn end(self) {
        let errors = self.browser.errors().await.unwrap();
        assert!(errors.is_empty(), "the page's console: {errors:?}");
        self.page.stop().await;
    }
}

/// The component, compiled once: the file that `HOST_TEST_COMPONENT` names, or the one that
/// `cargo xtask build` makes.
fn plugin() -> &'static Plugin {
    static PLUGIN: OnceLock<Plugin> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        let built = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../target/voice-calling.wasm"
        );
        let path = env::var_os("HOST_TEST_COMPONENT").map_or_else(|| built.into(), PathBuf::from);
        Plugin::load(&path).expect("the component")
    })
}

fn docket(number: &str, context: &str) -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: number.into(),
        call_context: context.into(),
        external_id: None,
        extra: None,
    }
}
