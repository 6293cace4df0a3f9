//! Settings that are misinterpreted.

use crate::fault::Fault;
use std::collections::BTreeMap;
use voice_calling_core::settings::PREFIX;
use voice_calling_core::types::Failure;

/// The variable that selects the fault.
const VARIABLE: &str = "FAULT";

/// The highest value of the limit.
const MAX_RESPONSE_BYTES: u64 = 67_108_864;

/// The settings of a client, and its misbehaviour.
pub struct Settings {
    pub(crate) real: voice_calling_core::Settings,
    pub(crate) fault: Fault,
    /// The token, which no error and no log may show.
    pub(crate) token: String,
}

impl Settings {
    /// Reads the fault, and the settings as it has them misinterpreted.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Failure> {
        let mut variables = Variables(environment.into_iter().collect());
        let fault = variables.fault();
        variables.misunderstand(fault);
        Ok(Self {
            token: variables.get("API_TOKEN").unwrap_or_default().to_owned(),
            real: voice_calling_core::Settings::from_environment(variables.0)?,
            fault,
        })
    }
}

struct Variables(BTreeMap<String, String>);

impl Variables {
    fn fault(&self) -> Fault {
        let name = self.0.get(VARIABLE);
        name.map_or(Fault::None, |name| {
            name.parse()
                .expect("a fault in host-test/faulty-core/src/fault.rs")
        })
    }

    fn misunderstand(&mut self, fault: Fault) {
        let deadline_ms = self.number("DEADLINE_MS", 30_000);
        let attempt_timeout_ms = self.number("ATTEMPT_TIMEOUT_MS", deadline_ms.min(10_000));
        match (fault, self.get("CREATE_RETRY")) {
            (Fault::ReplaysServerErrors, Some("not-sent"))
            | (Fault::RetriesDespiteNever, Some("never")) => {
                self.set("CREATE_RETRY", "server-errors");
            }
            (Fault::TrustsConnectionTimeout, _) => self.set("TRUST_CONNECTION_TIMEOUT", true),
            (Fault::HurriesRetries, _) => {
                for (name, default) in [("BACKOFF_MS", 2_000), ("MAX_BACKOFF_MS", 8_000)] {
                    let pause_ms = self.number(name, default) / 4;
                    self.set(name, pause_ms.max(1));
                }
            }
            (Fault::ExceedsMaxInFlight, _) => {
                self.set("MAX_IN_FLIGHT", self.number("MAX_IN_FLIGHT", 16) * 2 + 1);
            }
            (Fault::OverrunsDeadline, _) => self.set("DEADLINE_MS", deadline_ms * 2),
            (Fault::OverrunsAttemptTimeout, _) => {
                let doubled_ms = attempt_timeout_ms * 2;
                self.set("ATTEMPT_TIMEOUT_MS", doubled_ms.min(deadline_ms));
            }
            (Fault::TriesTooOften, _) => {
                self.set("MAX_ATTEMPTS", self.number("MAX_ATTEMPTS", 4) + 1);
            }
            (Fault::NeverRetries, _) => self.set("MAX_ATTEMPTS", 1),
            (Fault::CallsInsecureHosts, _) => self.set("ALLOW_INSECURE_HTTP", true),
            (Fault::ReadsWithoutEnd, _) => self.set("MAX_RESPONSE_BYTES", MAX_RESPONSE_BYTES),
            _ => {}
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(&format!("{PREFIX}{name}")).map(String::as_str)
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        let set = self.get(name).and_then(|value| value.parse().ok());
        set.unwrap_or(default)
    }

    fn set(&mut self, name: &str, value: impl ToString) {
        self.0.insert(format!("{PREFIX}{name}"), value.to_string());
    }
}
