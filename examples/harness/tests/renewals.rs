//! What a user of the examples notices: which phones ring, and what the report says. Every
//! test runs the guests in all languages.

use examples_harness::{
    Campaign, Completion, Composition, Customer, Ending, Language, LostAnswer, Reminder,
};
use serde_json::{Value, json};
use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use voice_calling_host::{
    InstanceSettings, Loading, Network, Outgoing, PooledNetwork, Reach, Sandbox,
};
use voice_calling_mock::{
    Agent, CallStatus, Endpoint, Fault, MockService, Options, Pace, ReceivedRequest,
};

/// Compiled once for all tests.
fn composition(language: Language) -> &'static Composition {
    static COMPOSITIONS: [OnceLock<Composition>; 2] = [const { OnceLock::new() }; 2];
    COMPOSITIONS[language as usize].get_or_init(|| Composition::load(language).unwrap())
}

/// Our component: the file that `HOST_TEST_COMPONENT` names, or the one that
/// `cargo xtask build` makes.
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

/// A mock service and the way to it.
struct Stage {
    mock: MockService,
    outgoing: Outgoing,
}

impl Stage {
    /// A service whose dockets are completed in no time, with a change.
    async fn changed(change: impl FnOnce(&mut Options)) -> Self {
        Self::reached_by(pooled(), change).await
    }

    async fn start() -> Self {
        Self::changed(|_| {}).await
    }

    async fn reached_by(
        network: impl Network + 'static,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let mut options = Options {
            pace: Pace::Every(Duration::from_millis(1)),
            ..Options::default()
        };
        change(&mut options);
        Self {
            mock: MockService::start(options).await.unwrap(),
            outgoing: Outgoing::loopback(network),
        }
    }

    async fn remind(
        &self,
        language: Language,
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
        let reminders = composition(language).remind(settings, campaign, customers);
        reminders.await.expect("the guest does not trap")
    }

    fn creations(&self) -> Vec<ReceivedRequest> {
        self.mock.requests_to(Endpoint::CreateDocketV2)
    }

    /// The docket that has a customer's reference in its call context.
    fn docket_of(&self, customer: &Customer) -> Option<String> {
        let reference = format!("{:?}", customer.reference);
        self.mock.docket_with_context(&reference)
    }
}

fn pooled() -> PooledNetwork {
    PooledNetwork::new(Reach::Loopback).unwrap()
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

/// The endings alone.
fn endings(reminders: &[Reminder]) -> Vec<Ending> {
    reminders.iter().map(|it| it.ending.clone()).collect()
}

fn body(request: &ReceivedRequest) -> Value {
    serde_json::from_slice(&request.body).expect("the body is JSON")
}

#[tokio::test]
async fn every_customer_is_called_once_and_the_report_says_how_it_ended() {
    for language in Language::ALL {
        let never = vec![CallStatus::NoAnswer, CallStatus::Busy, CallStatus::NoAnswer];
        let stage = Stage::changed(|options| {
            options.scripts.by_number = [("919876541002".to_owned(), never)].into();
        })
        .await;
        let customers = three_customers();
        let reminders = stage.remind(language, &campaign(), &customers).await;

        let reminders = reminders.unwrap();
        let expected = [answered(), closed("ATTEMPTS_EXHAUSTED", 3), answered()];
        assert_eq!(endings(&reminders), expected, "{language:?}");
        for (reminder, customer) in reminders.iter().zip(&customers) {
            assert_eq!(reminder.reference, customer.reference, "{language:?}");
            assert!(reminder.docket_id.is_some(), "{language:?}");
            assert_eq!(
                reminder.docket_id,
                stage.docket_of(customer),
                "{language:?}"
            );
        }
        let numbers = customers.map(|customer| customer.phone_number);
        assert_eq!(stage.mock.phones_rung(), numbers, "{language:?}");
    }
}

#[tokio::test]
async fn the_service_is_asked_for_the_agent_then_for_each_docket_and_only_then_how_they_stand() {
    for language in Language::ALL {
        let stage = Stage::start().await;
        let customers = three_customers();
        let reminders = stage.remind(language, &campaign(), &customers).await;

        let requests = stage.mock.requests();
        let [agents, first, second, third, polls @ ..] = requests.as_slice() else {
            panic!("{language:?}: only {} requests", requests.len());
        };
        assert_eq!(agents.method, "GET");
        assert_eq!(agents.path_and_query, "/api/v1/agents?organizationId=org-1");
        for (creation, customer) in [first, second, third].into_iter().zip(&customers) {
            assert_eq!(creation.method, "POST", "{language:?}");
            assert_eq!(creation.path_and_query, "/api/v2/dockets", "{language:?}");
            let expected = json!({
                "agent_id": 7,
                "to_phone_number": customer.phone_number,
                "extra_config": {"call_context": {
                    "reference": customer.reference,
                    "customer_name": customer.name,
                    "renewal_date": "2027-01-31",
                }},
                "external_id": customer.reference,
            });
            assert_eq!(body(creation), expected, "{language:?}");
        }
        let mut asked: Vec<_> = polls.iter().map(ReceivedRequest::path).collect();
        asked.dedup();
        let dockets = reminders
            .unwrap()
            .into_iter()
            .map(|it| it.docket_id.unwrap());
        let expected: Vec<_> = dockets.map(|id| format!("/api/v1/dockets/{id}")).collect();
        assert_eq!(asked, expected, "{language:?}");
        assert!(polls.iter().all(|poll| poll.method == "GET"));
    }
}

#[tokio::test]
async fn a_refused_number_hides_nobody_else() {
    for language in Language::ALL {
        let stage = Stage::start().await;
        // The client refuses the first, the service the third.
        let mut customers = [
            customer(1001, "Asha"),
            customer(1002, "Ravi"),
            customer(1003, "Meera"),
            customer(1004, "Kabir"),
        ];
        customers[0].phone_number = "+919876541001".to_owned();
        let refused = Fault::status(422);
        stage.mock.on_nth(Endpoint::CreateDocketV2, 2, refused);
        let reminders = stage.remind(language, &campaign(), &customers).await;

        let reminders = reminders.unwrap();
        let [first, second, third, fourth] = reminders.as_slice() else {
            panic!("{language:?}: {reminders:?}");
        };
        assert!(
            matches!(&first.ending, Ending::NotCalled(why) if why.starts_with("to-phone-number: found ")),
            "{language:?}: {first:?}"
        );
        assert!(
            matches!(&third.ending, Ending::NotCalled(why) if why.contains("422")),
            "{language:?}: {third:?}"
        );
        assert_eq!((&first.docket_id, &third.docket_id), (&None, &None));
        for reminder in [second, fourth] {
            assert_eq!(reminder.ending, answered(), "{language:?}");
        }
        let rung = ["919876541002", "919876541004"];
        assert_eq!(stage.mock.phones_rung(), rung, "{language:?}");
        assert_eq!(stage.creations().len(), 3, "{language:?}");
    }
}

#[tokio::test]
async fn a_creation_whose_answer_is_lost_is_sent_once_and_left_to_people() {
    for language in Language::ALL {
        let network = LostAnswer::to_nth_creation(2, pooled());
        let stage = Stage::reached_by(network, |_| {}).await;
        let customers = three_customers();
        let reminders = stage.remind(language, &campaign(), &customers).await;

        let reminders = reminders.unwrap();
        let [first, second, third] = reminders.as_slice() else {
            panic!("{language:?}: {reminders:?}");
        };
        assert!(
            matches!(&second.ending, Ending::LookBeforeYouCallAgain(_)),
            "{language:?}: {second:?}"
        );
        assert_eq!(second.docket_id, None, "{language:?}");
        assert_eq!((&first.ending, &third.ending), (&answered(), &answered()));
        // The phone did ring, and who looks finds the docket.
        for customer in &customers {
            let rung = stage.mock.times_rung(&customer.phone_number);
            assert_eq!(rung, 1, "{language:?}: {}", customer.reference);
            assert!(stage.docket_of(customer).is_some(), "{language:?}");
        }
        assert_eq!(stage.creations().len(), 3, "{language:?}");
    }
}

#[tokio::test]
async fn a_refusal_after_a_failure_of_the_service_is_no_certainty_that_nothing_rang() {
    for language in Language::ALL {
        let stage = Stage::start().await;
        let created = Fault::created_then(503);
        stage.mock.on_nth(Endpoint::CreateDocketV2, 1, created);
        let refused = Fault::status(422);
        stage.mock.on_nth(Endpoint::CreateDocketV2, 2, refused);
        let customers = [customer(1001, "Asha")];
        let reminders = stage.remind(language, &campaign(), &customers).await;

        let reminders = reminders.unwrap();
        assert!(
            matches!(&reminders[0].ending, Ending::LookBeforeYouCallAgain(_)),
            "{language:?}: {reminders:?}"
        );
        assert_eq!(stage.mock.phones_rung().len(), 1, "{language:?}");
    }
}

#[tokio::test]
async fn who_is_not_completed_in_time_is_pending_and_has_a_docket() {
    for language in Language::ALL {
        let stage = Stage::changed(|options| options.pace = Pace::Manual).await;
        let impatient = Campaign {
            wait_ms: 20,
            ..campaign()
        };
        let customers = [customer(1001, "Asha")];
        let reminders = stage.remind(language, &impatient, &customers).await;

        let expected = Reminder {
            reference: "policy-1001".to_owned(),
            docket_id: stage.docket_of(&customers[0]),
            ending: Ending::Pending("not completed within 20 ms".to_owned()),
        };
        assert!(expected.docket_id.is_some(), "{language:?}");
        assert_eq!(reminders, Ok(vec![expected]), "{language:?}");
    }
}

#[tokio::test]
async fn a_docket_that_cannot_be_fetched_is_pending_and_hides_nobody_else() {
    for language in Language::ALL {
        let stage = Stage::start().await;
        stage
            .mock
            .on_nth(Endpoint::GetDocket, 1, Fault::status(404));
        let customers = three_customers();
        let reminders = stage.remind(language, &campaign(), &customers).await;

        let reminders = reminders.unwrap();
        assert!(
            matches!(&reminders[0].ending, Ending::Pending(why) if why.contains("404")),
            "{language:?}: {reminders:?}"
        );
        assert_eq!(reminders[0].docket_id, stage.docket_of(&customers[0]));
        assert_eq!(endings(&reminders[1..]), [answered(), answered()]);
    }
}

#[tokio::test]
async fn without_just_one_agent_of_the_name_nobody_is_called() {
    for language in Language::ALL {
        for (agents, found) in [(vec![], 0), (vec![7, 8], 2)] {
            let stage = Stage::changed(|options| {
                let agent = |id| Agent::new(id, "renewals", "+911140000007");
                options.agents = agents.into_iter().map(agent).collect();
            })
            .await;
            let reminders = stage
                .remind(language, &campaign(), &three_customers())
                .await;
            let error = format!("{found} agents have the name renewals; expected one");
            assert_eq!(reminders, Err(error), "{language:?}");
            assert_eq!(stage.mock.requests().len(), 1, "{language:?}");
        }
    }
}

#[tokio::test]
async fn where_the_agents_cannot_be_listed_nobody_is_called_and_the_error_says_why() {
    for language in Language::ALL {
        let stage = Stage::start().await;
        stage.mock.on_next(Endpoint::ListAgents, Fault::status(401));
        let reminders = stage
            .remind(language, &campaign(), &three_customers())
            .await;
        let error = reminders.unwrap_err();
        assert!(
            error.starts_with("the agents cannot be listed: ") && error.contains("401"),
            "{language:?}: {error}"
        );
        assert_eq!(stage.creations().len(), 0, "{language:?}");
    }
}

#[tokio::test]
async fn the_id_of_an_agent_keeps_all_its_digits() {
    // More than a double can hold.
    let agent_id = 9_007_199_254_740_993;
    for language in Language::ALL {
        let stage = Stage::changed(|options| {
            options.agents = vec![Agent::new(agent_id, "renewals", "+911140000007")];
        })
        .await;
        let customers = [customer(1001, "Asha")];
        let reminders = stage.remind(language, &campaign(), &customers).await;
        assert_eq!(endings(&reminders.unwrap()), [answered()], "{language:?}");
        assert_eq!(body(&stage.creations()[0])["agent_id"], json!(agent_id));
    }
}

#[tokio::test]
async fn all_languages_give_the_same_report() {
    let mut reports = Vec::new();
    for language in Language::ALL {
        let network = LostAnswer::to_nth_creation(3, pooled());
        let stage = Stage::reached_by(network, |_| {}).await;
        let refused = Fault::status(422);
        stage.mock.on_nth(Endpoint::CreateDocketV2, 2, refused);
        stage
            .mock
            .on_nth(Endpoint::GetDocket, 1, Fault::status(404));
        let mut customers = Vec::from(three_customers());
        customers.push(customer(1004, "Kabir"));
        customers.push(customer(1005, "with a number that is too short"));
        customers[4].phone_number.pop();
        let reminders = stage.remind(language, &campaign(), &customers).await;
        let mut reminders = reminders.unwrap();
        for reminder in &mut reminders {
            // The service draws them.
            reminder.docket_id = reminder.docket_id.take().map(|_| "a docket".to_owned());
        }
        let creations: Vec<_> = stage.creations().iter().map(body).collect();
        reports.push((reminders, creations, stage.mock.phones_rung()));
    }
    assert_eq!(reports[0], reports[1]);
    let (reminders, ..) = &reports[0];
    assert!(
        matches!(
            endings(reminders).as_slice(),
            [
                Ending::Pending(_),
                Ending::NotCalled(_),
                Ending::LookBeforeYouCallAgain(_),
                Ending::Completed(_),
                Ending::NotCalled(_),
            ]
        ),
        "{reminders:?}"
    );
}

#[test]
fn a_composition_asks_its_host_for_nothing_that_the_client_alone_does_not() {
    let client = Sandbox::load(&client(), &Loading::default()).unwrap();
    let mut expected = client.imports();
    expected.sort();
    for language in Language::ALL {
        let mut imports = composition(language).imports();
        imports.sort();
        assert_eq!(imports, expected, "{language:?}");
    }
}
