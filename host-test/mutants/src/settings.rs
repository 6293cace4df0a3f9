//! Settings that are misinterpreted.

use crate::mutant::Mutant;
use std::collections::BTreeMap;
use voice_calling_core::settings::PREFIX;
use voice_calling_core::types::Failure;

/// The variable that selects a mutant.
const VARIABLE: &str = "MUTANT";

/// The highest value of the limit.
const MAX_RESPONSE_BYTES: u64 = 67_108_864;

/// The settings of a client, and its misbehaviour.
pub struct Settings {
    pub(crate) real: voice_calling_core::Settings,
    pub(crate) mutant: Mutant,
    /// The token, which no error and no log may show.
    pub(crate) token: String,
}

impl Settings {
    /// Reads the mutant's name, and the settings as that mutant interprets them.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Failure> {
        let mut variables = Variables(environment.into_iter().collect());
        let mutant = variables.mutant();
        variables.misunderstand(mutant);
        Ok(Self {
            token: variables.get("API_TOKEN").unwrap_or_default().to_owned(),
            real: voice_calling_core::Settings::from_environment(variables.0)?,
            mutant,
        })
    }
}

struct Variables(BTreeMap<String, String>);

impl Variables {
    fn mutant(&self) -> Mutant {
        let name = self.0.get(VARIABLE);
        name.map_or(Mutant::None, |name| {
            name.parse().expect("a name in docs/mutants.md")
        })
    }

    fn misunderstand(&mut self, mutant: Mutant) {
        let deadline_ms = self.number("DEADLINE_MS", 30_000);
        let attempt_timeout_ms = self.number("ATTEMPT_TIMEOUT_MS", deadline_ms.min(10_000));
        match (mutant, self.get("CREATE_RETRY")) {
            (Mutant::ReplaysServerErrors, Some("not-sent"))
            | (Mutant::RetriesDespiteNever, Some("never")) => {
                self.set("CREATE_RETRY", "server-errors");
            }
            (Mutant::TrustsConnectionTimeout, _) => self.set("TRUST_CONNECTION_TIMEOUT", true),
            (Mutant::HurriesRetries, _) => {
                for (name, default) in [("BACKOFF_MS", 2_000), ("MAX_BACKOFF_MS", 8_000)] {
                    let pause_ms = self.number(name, default) / 4;
                    self.set(name, pause_ms.max(1));
                }
            }
            (Mutant::ExceedsMaxInFlight, _) => {
                self.set("MAX_IN_FLIGHT", self.number("MAX_IN_FLIGHT", 16) * 2 + 1);
            }
            (Mutant::OverrunsDeadline, _) => self.set("DEADLINE_MS", deadline_ms * 2),
            (Mutant::OverrunsAttemptTimeout, _) => {
                let doubled_ms = attempt_timeout_ms * 2;
                self.set("ATTEMPT_TIMEOUT_MS", doubled_ms.min(deadline_ms));
            }
            (Mutant::TriesTooOften, _) => {
                self.set("MAX_ATTEMPTS", self.number("MAX_ATTEMPTS", 4) + 1);
            }
            (Mutant::NeverRetries, _) => self.set("MAX_ATTEMPTS", 1),
            (Mutant::CallsInsecureHosts, _) => self.set("ALLOW_INSECURE_HTTP", true),
            (Mutant::ReadsWithoutEnd, _) => self.set("MAX_RESPONSE_BYTES", MAX_RESPONSE_BYTES),
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
