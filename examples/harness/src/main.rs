//! Runs the same campaign with each guest on the mock service: one customer answers, one never
//! does, one has a wrong number, and the outcome of one is unknown.

use anyhow::{Context, Result};
use comfy_table::{Table, presets::NOTHING};
use examples_harness::{
    Campaign, Completion, Composition, Customer, Ending, Language, LostAnswer, Reminder,
};
use std::time::{Duration, Instant};
use voice_calling_host::{InstanceSettings, Outgoing, PooledNetwork, Reach};
use voice_calling_mock::{CallStatus, MockService, Options, Pace};

#[tokio::main]
async fn main() -> Result<()> {
    for language in Language::ALL {
        let begun = Instant::now();
        let composition = Composition::load(language)?;
        let loaded = begun.elapsed();
        let (reminders, rung) = run(&composition).await?;
        println!("{language:?} (loaded in {} ms)", loaded.as_millis());
        println!("{}", table(&reminders));
        println!("phones that rang: {}\n", rung.join(", "));
    }
    Ok(())
}

/// Returns the result for each customer, and the phones that rang.
async fn run(composition: &Composition) -> Result<(Vec<Reminder>, Vec<String>)> {
    let mut options = Options {
        pace: Pace::Every(Duration::from_millis(50)),
        ..Options::default()
    };
    let never = vec![CallStatus::NoAnswer, CallStatus::Busy];
    options.scripts.by_number = [("910000000002".to_owned(), never)].into();
    let mock = MockService::start(options).await?;
    let environment = [
        ("VOICE_CALLING_BASE_URL", mock.base_url()),
        ("VOICE_CALLING_API_TOKEN", mock.token()),
        ("VOICE_CALLING_MAX_BACKOFF_MS", "250".to_owned()),
    ];
    // The third customer's number is rejected before anything is sent.
    let network = LostAnswer::to_nth_creation(3, PooledNetwork::new(Reach::Loopback)?);
    let settings = InstanceSettings::new(environment, Outgoing::loopback(network));
    let campaign = Campaign {
        organization_id: "org-1".to_owned(),
        agent_name: "renewals".to_owned(),
        wait_ms: 10_000,
    };
    let customers = [
        customer("policy-1001", "Asha", "910000000001"),
        customer("policy-1002", "Ravi", "910000000002"),
        customer("policy-1003", "Meera", "+91 00000 00003"),
        customer("policy-1004", "Kabir", "910000000004"),
    ];
    let reminders = composition.remind(settings, &campaign, &customers).await?;
    let reminders = reminders.map_err(anyhow::Error::msg);
    let rung = mock.phones_rung();
    Ok((reminders.context("no one was called")?, rung))
}

fn customer(reference: &str, name: &str, phone_number: &str) -> Customer {
    Customer {
        reference: reference.to_owned(),
        name: name.to_owned(),
        phone_number: phone_number.to_owned(),
        renewal_date: "2027-01-31".to_owned(),
    }
}

fn table(reminders: &[Reminder]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(NOTHING)
        .set_header(["reference", "docket", "ending"]);
    for reminder in reminders {
        let docket = reminder.docket_id.as_deref().unwrap_or("-");
        table.add_row([&reminder.reference, docket, &in_words(&reminder.ending)]);
    }
    table
}

fn in_words(ending: &Ending) -> String {
    match ending {
        Ending::Completed(Completion { reason, calls }) => {
            let reason = reason.as_deref().unwrap_or("no reason");
            let calls = calls.map_or("?".to_owned(), |calls| calls.to_string());
            format!("completed after {calls} calls: {reason}")
        }
        Ending::Pending(why) => format!("pending: {why}"),
        Ending::NotCalled(why) => format!("not called: {why}"),
        Ending::LookBeforeYouCallAgain(why) => format!("look before you call again: {why}"),
    }
}
