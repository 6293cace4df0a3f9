//! The operator's own servers: contacts, a do-not-call list, and the hand-off.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use serde_json::Value;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::site::{Setup, contact};

/// One server for all three.
pub struct Operator {
    server: MockServer,
    spared: Arc<Mutex<String>>,
    /// How often the contacts can still be read.
    reads: Arc<AtomicUsize>,
}

impl Operator {
    /// Serves these contacts, and answers the first hand-off with 503.
    pub async fn start(numbers: &[String]) -> Self {
        let contacts: Vec<_> = numbers.iter().map(|number| contact(number)).collect();
        Self::with_contacts(&contacts).await
    }

    /// As [`start`](Self::start), with contacts of any form.
    pub async fn with_contacts(contacts: &[Value]) -> Self {
        let lines: Vec<_> = contacts.iter().map(Value::to_string).collect();
        Self::with_file(lines.join("\n")).await
    }

    /// As [`start`](Self::start), with a file of contacts.
    pub async fn with_file(file: String) -> Self {
        // Not of wiremock's pool: requests of the node of an earlier test would count as this one's.
        let server = MockServer::builder().start().await;
        let reads = Arc::new(AtomicUsize::new(usize::MAX));
        let left = Arc::clone(&reads);
        let contacts = move |_: &Request| {
            let one_less = |left: usize| left.checked_sub(1);
            match left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
                Ok(_) => ResponseTemplate::new(200).set_body_string(file.clone()),
                Err(_) => ResponseTemplate::new(503),
            }
        };
        Mock::given(method("GET"))
            .and(path("/contacts.jsonl"))
            .respond_with(contacts)
            .mount(&server)
            .await;
        let spared = Arc::new(Mutex::new("# none yet\n".to_owned()));
        let list = Arc::clone(&spared);
        let list = move |_: &Request| {
            let list = list.lock().unwrap_or_else(PoisonError::into_inner);
            ResponseTemplate::new(200).set_body_string(list.clone())
        };
        Mock::given(path("/do-not-call.txt"))
            .respond_with(list)
            .mount(&server)
            .await;
        Mock::given(path("/events"))
            .respond_with(ResponseTemplate::new(503))
            .up_to_n_times(1)
            .mount(&server)
            .await;
        Mock::given(path("/events"))
            .respond_with(ResponseTemplate::new(204))
            .mount(&server)
            .await;
        Self {
            server,
            spared,
            reads,
        }
    }

    /// Adds the server's addresses to a setup.
    pub fn known_to(&self, setup: Setup) -> Setup {
        let origin = self.server.uri();
        let variables = [
            ("CONTACTS_ORIGIN", ""),
            ("DO_NOT_CALL_ORIGIN", ""),
            ("DO_NOT_CALL_URL", "/do-not-call.txt"),
            ("HAND_OFF_ORIGIN", ""),
            ("HAND_OFF_URL", "/events"),
        ];
        variables.iter().fold(setup, |setup, (name, path)| {
            setup.with_variable(&format!("VOICE_CALLING_{name}"), &format!("{origin}{path}"))
        })
    }

    /// Returns the URL of the contacts.
    pub fn source(&self) -> String {
        format!("{}/contacts.jsonl", self.server.uri())
    }

    /// Sets how often the contacts can be read from now on.
    pub fn set_reads(&self, reads: usize) {
        self.reads.store(reads, Ordering::Relaxed);
    }

    /// Puts a number on the do-not-call list.
    pub fn spare(&self, number: &str) {
        let mut list = self.spared.lock().unwrap_or_else(PoisonError::into_inner);
        list.push_str(&format!("+{number}\n"));
    }

    /// Empties the do-not-call list, as it may be while its file is written.
    pub fn empty_do_not_call_list(&self) {
        let mut list = self.spared.lock().unwrap_or_else(PoisonError::into_inner);
        list.clear();
    }

    /// Returns how often the do-not-call list was read.
    pub async fn checks(&self) -> usize {
        let requests = self.server.received_requests().await.unwrap_or_default();
        let checks = requests.iter();
        checks
            .filter(|it| it.url.path() == "/do-not-call.txt")
            .count()
    }

    /// Returns the events that were handed off, each with its key.
    pub async fn events(&self) -> Result<Vec<(String, Value)>> {
        let requests = self.server.received_requests().await.unwrap_or_default();
        let events = requests.iter().filter(|it| it.url.path() == "/events");
        events
            .map(|request| {
                let key = request.headers.get("idempotency-key");
                let key = key.map_or("", |key| key.to_str().unwrap_or_default());
                Ok((key.to_owned(), serde_json::from_slice(&request.body)?))
            })
            .collect()
    }
}
