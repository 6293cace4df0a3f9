//! Settings that are understood otherwise than they are meant.

use crate::mutant::Mutant;
use std::collections::BTreeMap;
use voice_calling_core::settings::PREFIX;
use voice_calling_core::types::RequestError;

const A_DAY_MS: u64 = 86_400_000;
const MOST_ATTEMPTS: u64 = 100;
const MOST_IN_FLIGHT: u64 = 100_000;
const MOST_RESPONSE_BYTES: u64 = 67_108_864;

/// The settings of a client, and how it misbehaves.
pub struct Settings {
    pub(crate) real: voice_calling_core::Settings,
    pub(crate) mutant: Mutant,
    /// What no error and no log may show.
    pub(crate) token: String,
}

impl Settings {
    /// Reads which mutant is asked for, and the settings as that one understands them.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, RequestError> {
        let environment: Vec<_> = environment.into_iter().collect();
        let mutant = Mutant::of_environment(&environment)?;
        // What is wrong as it stands must not become right by what is done to it. The one
        // exception is what that mutant is for.
        if mutant != Mutant::CallsInsecureHosts {
            voice_calling_core::Settings::from_environment(environment.clone())?;
        }
        let mut variables = Variables(environment.into_iter().collect());
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
    fn misunderstand(&mut self, mutant: Mutant) {
        match mutant {
            Mutant::ReplaysServerErrors if self.get("CREATE_RETRY") == Some("not-sent") => {
                self.set("CREATE_RETRY", "server-errors");
            }
            Mutant::RetriesDespiteNever if self.get("CREATE_RETRY") == Some("never") => {
                self.set("CREATE_RETRY", "server-errors");
            }
            Mutant::TrustsConnectionTimeout => self.set("TRUST_CONNECTION_TIMEOUT", true),
            Mutant::HurriesRetries => {
                for (name, default) in [("BACKOFF_MS", 2_000), ("MAX_BACKOFF_MS", 8_000)] {
                    let pause_ms = self.number(name, default) / 4;
                    self.set(name, pause_ms.max(1));
                }
            }
            Mutant::ExceedsMaxInFlight => {
                let requests = self.number("MAX_IN_FLIGHT", 16) * 2 + 1;
                self.set("MAX_IN_FLIGHT", requests.min(MOST_IN_FLIGHT));
            }
            Mutant::OverrunsDeadline => {
                let doubled_ms = (self.deadline_ms() * 2).min(A_DAY_MS);
                // An attempt that may take all of the time goes on holding nothing back.
                if self.attempt_timeout_ms() == self.deadline_ms() {
                    self.set("ATTEMPT_TIMEOUT_MS", doubled_ms);
                }
                self.set("DEADLINE_MS", doubled_ms);
            }
            Mutant::OverrunsAttemptTimeout => {
                let doubled_ms = self.attempt_timeout_ms() * 2;
                self.set("ATTEMPT_TIMEOUT_MS", doubled_ms.min(self.deadline_ms()));
            }
            Mutant::TriesTooOften => {
                let attempts = self.number("MAX_ATTEMPTS", 4) + 1;
                self.set("MAX_ATTEMPTS", attempts.min(MOST_ATTEMPTS));
            }
            Mutant::NeverRetries => self.set("MAX_ATTEMPTS", 1),
            Mutant::CallsInsecureHosts => {
                if matches!(self.get("ALLOW_INSECURE_HTTP"), None | Some("false")) {
                    self.set("ALLOW_INSECURE_HTTP", true);
                }
            }
            Mutant::ReadsWithoutEnd => self.set("MAX_RESPONSE_BYTES", MOST_RESPONSE_BYTES),
            _ => {}
        }
    }

    fn deadline_ms(&self) -> u64 {
        self.number("DEADLINE_MS", 30_000)
    }

    fn attempt_timeout_ms(&self) -> u64 {
        self.number("ATTEMPT_TIMEOUT_MS", self.deadline_ms().min(10_000))
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

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: [(&str, &str); 2] = [
        ("BASE_URL", "https://api.example"),
        ("API_TOKEN", "secret-token"),
    ];

    fn environment(given: &[(&str, &str)]) -> Vec<(String, String)> {
        let all = REQUIRED.iter().chain(given);
        all.map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned()))
            .collect()
    }

    fn read(
        mutant: &str,
        given: &[(&str, &str)],
    ) -> Result<voice_calling_core::Settings, RequestError> {
        let mut environment = environment(given);
        environment.push(("MUTANT".to_owned(), mutant.to_owned()));
        Settings::from_environment(environment).map(|settings| settings.real)
    }

    fn as_meant(given: &[(&str, &str)]) -> voice_calling_core::Settings {
        voice_calling_core::Settings::from_environment(environment(given)).unwrap()
    }

    #[test]
    fn what_is_set_is_misunderstood_in_one_way() {
        for (mutant, given, understood) in [
            (
                "replays-server-errors",
                &[("CREATE_RETRY", "not-sent")][..],
                &[("CREATE_RETRY", "server-errors")][..],
            ),
            (
                "exceeds-max-in-flight",
                &[("MAX_IN_FLIGHT", "3")],
                &[("MAX_IN_FLIGHT", "7")],
            ),
            (
                "retries-despite-never",
                &[("CREATE_RETRY", "never")],
                &[("CREATE_RETRY", "server-errors")],
            ),
            (
                "trusts-connection-timeout",
                &[],
                &[("TRUST_CONNECTION_TIMEOUT", "true")],
            ),
            (
                "hurries-retries",
                &[],
                &[("BACKOFF_MS", "500"), ("MAX_BACKOFF_MS", "2000")],
            ),
            ("exceeds-max-in-flight", &[], &[("MAX_IN_FLIGHT", "33")]),
            (
                "exceeds-max-in-flight",
                &[("MAX_IN_FLIGHT", "100000")],
                &[("MAX_IN_FLIGHT", "100000")],
            ),
            (
                "overruns-attempt-timeout",
                &[("ATTEMPT_TIMEOUT_MS", "100"), ("CONNECT_TIMEOUT_MS", "90")],
                &[("ATTEMPT_TIMEOUT_MS", "200"), ("CONNECT_TIMEOUT_MS", "90")],
            ),
            (
                "overruns-attempt-timeout",
                &[("DEADLINE_MS", "15000")],
                &[("DEADLINE_MS", "15000"), ("ATTEMPT_TIMEOUT_MS", "15000")],
            ),
            (
                "tries-too-often",
                &[("MAX_ATTEMPTS", "1")],
                &[("MAX_ATTEMPTS", "2")],
            ),
            ("tries-too-often", &[], &[("MAX_ATTEMPTS", "5")]),
            (
                "never-retries",
                &[("MAX_ATTEMPTS", "9")],
                &[("MAX_ATTEMPTS", "1")],
            ),
            ("never-retries", &[], &[("MAX_ATTEMPTS", "1")]),
            (
                "reads-without-end",
                &[("MAX_RESPONSE_BYTES", "9")],
                &[("MAX_RESPONSE_BYTES", "67108864")],
            ),
        ] {
            assert_eq!(read(mutant, given), Ok(as_meant(understood)), "{mutant}");
        }
    }

    #[test]
    fn a_doubled_deadline_is_reached_even_by_a_single_attempt() {
        for (given, understood) in [
            (&[][..], &[("DEADLINE_MS", "60000")][..]),
            (
                &[("DEADLINE_MS", "2000")],
                &[("DEADLINE_MS", "4000"), ("ATTEMPT_TIMEOUT_MS", "4000")],
            ),
            (
                &[("DEADLINE_MS", "2000"), ("ATTEMPT_TIMEOUT_MS", "500")],
                &[("DEADLINE_MS", "4000"), ("ATTEMPT_TIMEOUT_MS", "500")],
            ),
            (
                &[("DEADLINE_MS", "86400000")],
                &[("DEADLINE_MS", "86400000")],
            ),
        ] {
            assert_eq!(read("overruns-deadline", given), Ok(as_meant(understood)));
        }
    }

    #[test]
    fn http_to_any_host_is_allowed_unless_the_setting_is_wrong() {
        let url = ("BASE_URL", "http://api.example");
        let refused = [("ALLOW_INSECURE_HTTP", "false"), url];
        for given in [&[url][..], &refused] {
            assert!(read("none", given).is_err());
            assert!(read("calls-insecure-hosts", given).is_ok());
        }
        let wrong = [("ALLOW_INSECURE_HTTP", "yes"), url];
        assert!(read("calls-insecure-hosts", &wrong).is_err());
    }

    #[test]
    fn everything_else_is_understood_as_it_is_meant() {
        let given = [
            ("MAX_ATTEMPTS", "7"),
            ("DEADLINE_MS", "5000"),
            ("CREATE_RETRY", "not-sent"),
        ];
        for mutant in [
            "none",
            "leaks-token",
            "loses-order",
            "retries-despite-never",
        ] {
            assert_eq!(read(mutant, &given), Ok(as_meant(&given)), "{mutant}");
        }
    }

    #[test]
    fn what_is_wrong_stays_wrong() {
        for (name, _) in Mutant::ALL {
            for variable in ["MAX_ATTEMPTS", "DEADLINE_MS", "CREATE_RETRY", "MAX_ATEMPTS"] {
                let error = read(name, &[(variable, "0")]).unwrap_err();
                let RequestError::PermanentConfiguration(failure) = error else {
                    panic!("{name}: {error:?}")
                };
                let problem = failure.problem.unwrap();
                assert_eq!(problem.subject, format!("{PREFIX}{variable}"), "{name}");
            }
        }
    }
}
