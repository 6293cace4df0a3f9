//! The example in Python, composed with voice-calling into one component, as a user sees it: the
//! phones that ring, and the report. `cargo xtask examples` builds the composition.

use bindings::Composed;
use bindings::exports::voice_calling::example::renewals::{
    Campaign, Completion, Customer, Ending, Reminder,
};
use serde_json::{Value, json};
use std::env;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;
use voice_calling_host::{
    InstanceSettings, Loading, Outgoing, PooledNetwork, Reach, Sandbox, Trust, cache_in,
};
use voice_calling_mock::{
    Agent, CallStatus, Endpoint, Fault, MockService, Options, Pace, ReceivedRequest,
};

/// The bindings of the world `composed`.
#[allow(missing_docs, clippy::all)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "composed",
        exports: { default: async },
        additional_derives: [Clone, PartialEq],
    });
}

/// The guest with voice-calling plugged in. It includes an interpreter, which takes seconds to
/// compile: the result is cached beside it.
static COMPOSITION: LazyLock<Sandbox> = LazyLock::new(|| {
    let folder = match env::var_os("EXAMPLES_FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/examples").into(),
    };
    let loading = Loading {
        cache: cache_in(&folder.join("compiled")).ok(),
        ..Loading::default()
    };
    let file = folder.join("renewals.wasm");
    Sandbox::load(&file, &loading).expect("`cargo xtask examples` makes it")
});

/// Returns the voice-calling component: the file that `HOST_TEST_COMPONENT` names, or the one that
/// `cargo xtask build` builds.
fn client() -> PathBuf {
    match env::var_os("HOST_TEST_COMPONENT") {
        Some(path) => path.into(),
        None => concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../target/voice-calling.wasm"
        )
        .into(),
    }
}

/// A mock service and the network to it.
struct Stage {
    mock: MockService,
    outgoing: Outgoing,
}

impl Stage {
    /// Starts a service with changed options, whose dockets are completed at once.
    async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options {
            pace: Pace::Every(Duration::from_millis(1)),
            ..Options::default()
        };
        change(&mut options);
        Self {
            mock: MockService::start(options).await.unwrap(),
            outgoing: Outgoing::over(
                PooledNetwork::new(&Trust::default(), Reach::Loopback).unwrap(),
            ),
        }
    }

    /// Calls `renewals.remind` in a fresh instance.
    async fn remind(
        &self,
        campaign: &Campaign,
        customers: &[Customer],
    ) -> Result<Vec<Reminder>, String> {
        let environment = [
            ("VOICE_CALLING_BASE_URL", self.mock.base_url()),
            ("VOICE_CALLING_API_TOKEN", self.mock.token()),
            ("VOICE_CALLING_BACKOFF_MS", "1".to_owned()),
            ("VOICE_CALLING_MAX_BACKOFF_MS", "1".to_owned()),
        ];
        let settings = InstanceSettings::new(environment, self.outgoing.clone());
        let mut instance = COMPOSITION.instantiate(settings).await.unwrap();
        let reminders = instance.call(async |store, instance| {
            let composed = Composed::new(&mut *store, instance)?;
            let renewals = composed.voice_calling_example_renewals();
            renewals.call_remind(store, campaign, customers).await
        });
        reminders.await.expect("the guest does not trap")
    }

    /// Returns the docket whose call context contains a customer's reference.
    fn docket_of(&self, customer: &Customer) -> Option<String> {
        let reference = format!("{:?}", customer.reference);
        self.mock.docket_with_context(&reference)
    }
}

fn campaign() -> Campaign {
    Campaign {
        organization_id: "org-1".to_owned(),
        agent_name: "renewals".to_owned(),
        wait_ms: 60_000,
    }
}

fn customer(number: u32, name: &str) -> Customer {
    Customer {
        reference: format!("policy-{number}"),
        name: name.to_owned(),
        phone_number: format!("91987654{number}"),
        renewal_date: "2027-01-31".to_owned(),
    }
}

fn three_customers() -> [Customer; 3] {
    [
        customer(1001, "Asha"),
        customer(1002, "आशा \"O'Neil\" 🙂"),
        customer(1003, ""),
    ]
}

fn answered() -> Ending {
    closed("DISPOSITION", 2)
}

fn closed(reason: &str, calls: i64) -> Ending {
    Ending::Completed(Completion {
        reason: Some(reason.to_owned()),
        calls: Some(calls),
    })
}

/// Returns the endings alone.
fn endings(reminders: &[Reminder]) -> Vec<Ending> {
    reminders.iter().map(|it| it.ending.clone()).collect()
}

fn body(request: &ReceivedRequest) -> Value {
    serde_json::from_slice(&request.body).expect("the body is JSON")
}

#[tokio::test]
async fn every_customer_is_called_once_in_order_and_the_report_says_how_it_ended() {
    // A number that no double can represent.
    let agent_id = 9_007_199_254_740_993;
    let never = vec![CallStatus::NoAnswer, CallStatus::Busy, CallStatus::NoAnswer];
    let stage = Stage::with(|options| {
        options.agents = vec![Agent::new(agent_id, "renewals", "+911140000007")];
        options.scripts.by_number = [("919876541002".to_owned(), never)].into();
    })
    .await;
    let customers = three_customers();
    let reminders = stage.remind(&campaign(), &customers).await;
    let reminders = reminders.unwrap();
    let expected = [answered(), closed("ATTEMPTS_EXHAUSTED", 3), answered()];
    assert_eq!(endings(&reminders), expected);

    let requests = stage.mock.requests();
    let [agents, first, second, third, polls @ ..] = requests.as_slice() else {
        panic!("only {} requests", requests.len());
    };
    assert_eq!(agents.path_and_query, "/api/v1/agents?organizationId=org-1");
    for (creation, customer) in [first, second, third].into_iter().zip(&customers) {
        assert_eq!(creation.path_and_query, "/api/v2/dockets");
        let expected = json!({
            "agent_id": agent_id,
            "to_phone_number": customer.phone_number,
            "extra_config": {"call_context": {
                "reference": customer.reference,
                "customer_name": customer.name,
                "renewal_date": "2027-01-31",
            }},
            "external_id": customer.reference,
        });
        assert_eq!(body(creation), expected);
    }
    let mut asked: Vec<_> = polls.iter().map(ReceivedRequest::path).collect();
    asked.dedup();
    let mut expected = Vec::new();
    for (reminder, customer) in reminders.iter().zip(&customers) {
        assert_eq!(reminder.reference, customer.reference);
        let docket = stage.docket_of(customer);
        assert_eq!(reminder.docket_id, docket);
        expected.push(format!("/api/v1/dockets/{}", docket.expect("a docket")));
    }
    assert_eq!(asked, expected);
    let numbers = customers.map(|customer| customer.phone_number);
    assert_eq!(stage.mock.phones_rung(), numbers);
}

#[tokio::test]
async fn no_error_hides_another_and_an_unknown_outcome_is_not_retried() {
    let stage = Stage::with(|_| {}).await;
    let unanswered = "created-then-unanswered".parse().unwrap();
    for fault in [Fault::slow(Duration::ZERO), Fault::status(422), unanswered] {
        stage.mock.on_next(Endpoint::CreateDocketV2, fault);
    }
    stage.mock.on_next(Endpoint::GetDocket, Fault::status(404));
    let mut customers = Vec::from(three_customers());
    customers.push(customer(1004, "Kabir"));
    customers.push(customer(1005, "with a number that is too short"));
    customers[4].phone_number.pop();
    let reminders = stage.remind(&campaign(), &customers).await;
    let reminders = reminders.unwrap();
    let with_docket = reminders.iter().map(|it| it.docket_id.is_some());
    assert!(with_docket.eq([true, false, false, true, false]));
    // The phone of the third customer did ring, and a search finds the docket.
    assert!(stage.docket_of(&customers[2]).is_some());
    let rung = ["919876541001", "919876541003", "919876541004"];
    assert_eq!(stage.mock.phones_rung(), rung);
    assert_eq!(stage.mock.requests_to(Endpoint::CreateDocketV2).len(), 4);
    let reminders = endings(&reminders);
    let [
        Ending::Pending(not_found),
        Ending::NotCalled(by_service),
        Ending::LookBeforeYouCallAgain(_),
        Ending::Completed(_),
        Ending::NotCalled(by_client),
    ] = reminders.as_slice()
    else {
        panic!("{reminders:?}");
    };
    assert!(
        not_found.contains("404") && by_service.contains("422"),
        "{reminders:?}"
    );
    assert!(
        by_client.starts_with("to-phone-number: found "),
        "{by_client}"
    );
}

#[test]
fn a_composition_asks_its_host_for_nothing_that_the_client_alone_does_not() {
    let client = Sandbox::load(&client(), &Loading::default()).unwrap();
    let mut expected = client.imports();
    expected.sort();
    let mut imports = COMPOSITION.imports();
    imports.sort();
    assert_eq!(imports, expected);
}
