//! The settings of the component, for the constructors of clients.

/// A variable of the component, and what a constructor says of it.
pub struct Setting {
    /// The variable's name without its prefix: `DEADLINE_MS`.
    pub variable: &'static str,
    pub kind: Kind,
    /// What holds where it is not given; none where it has to be.
    pub default: Option<&'static str>,
    /// What it is for, in a sentence.
    pub meaning: &'static str,
}

/// What its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// Text that nobody may see.
    Secret,
    /// The variable has milliseconds.
    Duration,
    Count,
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// All but those that the packages set by themselves: `LOG` where their user listens, `ACCOUNTS`
/// with the settings of each, and `TRUST_CONNECTION_TIMEOUT`, which says what their host does.
pub const SETTINGS: [Setting; 14] = [
    Setting {
        variable: "BASE_URL",
        kind: Kind::Text,
        default: None,
        meaning: "The service: http(s)://host[:port][/path]; http only to loopback.",
    },
    Setting {
        variable: "API_TOKEN",
        kind: Kind::Secret,
        default: None,
        meaning: "The organization's token, without `Bearer `. It is sent as the header \
                  `auth_token: Bearer <token>`.",
    },
    Setting {
        variable: "MAX_ATTEMPTS",
        kind: Kind::Count,
        default: Some("4"),
        meaning: "Attempts of an operation, of an item of a batch, of a poll of a wait; 1 to 100.",
    },
    Setting {
        variable: "BACKOFF_MS",
        kind: Kind::Duration,
        default: Some("2000"),
        meaning: "The ceiling of the first pause, doubled from then on; the pause itself is drawn \
                  between half of it and all of it.",
    },
    Setting {
        variable: "MAX_BACKOFF_MS",
        kind: Kind::Duration,
        default: Some("8000"),
        meaning: "The highest ceiling, and the longest pause between polls; the service may ask \
                  for more.",
    },
    Setting {
        variable: "CONNECT_TIMEOUT_MS",
        kind: Kind::Duration,
        default: Some("3000"),
        meaning: "For a connection, TLS included.",
    },
    Setting {
        variable: "ATTEMPT_TIMEOUT_MS",
        kind: Kind::Duration,
        default: Some("10000"),
        meaning: "For an attempt, the body included.",
    },
    Setting {
        variable: "DEADLINE_MS",
        kind: Kind::Duration,
        default: Some("30000"),
        meaning: "For an operation, an item of a batch, a poll of a wait.",
    },
    Setting {
        variable: "CREATE_RETRY",
        kind: Kind::Choice(&["server-errors", "not-sent", "never"]),
        default: Some("server-errors"),
        meaning: "When a create is sent again: also after 5xx and 408, as the specification asks, \
                  although a phone may ring twice then; only if nothing was sent or the service \
                  refused it with 429 or 425; or never.",
    },
    Setting {
        variable: "MAX_IN_FLIGHT",
        kind: Kind::Count,
        default: Some("16"),
        meaning: "Open requests of all calls together; 1 to 100000.",
    },
    Setting {
        variable: "MAX_REQUEST_BYTES",
        kind: Kind::Count,
        default: Some("1048576"),
        meaning: "The body of a request; 1 to 67108864.",
    },
    Setting {
        variable: "MAX_RESPONSE_BYTES",
        kind: Kind::Count,
        default: Some("8388608"),
        meaning: "The body of an answer; 1 to 67108864. An answer to a create has at most 16384 \
                  bytes more than six times its request.",
    },
    Setting {
        variable: "MAX_DELIVERY_BYTES",
        kind: Kind::Count,
        default: Some("1048576"),
        meaning: "The body of a delivery to the webhook, which anyone can send; 1 to 67108864.",
    },
    Setting {
        variable: "ALLOW_INSECURE_HTTP",
        kind: Kind::Flag,
        default: Some("false"),
        meaning: "Whether plain http may go to a host that is not loopback.",
    },
];

impl Setting {
    /// What a constructor calls it, in kebab-case, with its unit: `deadline-ms`, `token`.
    pub fn name(&self) -> String {
        match self.variable {
            "API_TOKEN" => "token".to_owned(),
            variable => variable.to_lowercase().replace('_', "-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_those_of_the_component() {
        let mut names: Vec<_> = SETTINGS.iter().map(|setting| setting.variable).collect();
        names.extend(["LOG", "TRUST_CONNECTION_TIMEOUT"]);
        names.sort_unstable();
        let mut known = voice_calling_core::settings::NAMES.to_vec();
        known.sort_unstable();
        assert_eq!(names, known);
    }

    /// The rows of the README's table: the name of a setting, and its default.
    fn documented() -> Vec<(&'static str, &'static str)> {
        let readme = include_str!("../../../README.md");
        let (_, table) = readme.split_once("\n## Settings\n").unwrap();
        let rows = table.lines().filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|');
            let name = cells.next()?.trim().trim_end_matches('`');
            Some((name, cells.next()?.trim().trim_matches('`')))
        });
        rows.take_while(|(name, _)| *name != "ACCOUNTS").collect()
    }

    #[test]
    fn defaults_are_those_of_the_component_here_and_in_the_readme() {
        use voice_calling_core::Settings;

        let with = |more: Option<(&str, &str)>| {
            let needed = [
                ("BASE_URL", "https://api.example"),
                ("API_TOKEN", "token-of-a-test"),
            ];
            let all = needed.into_iter().chain(more);
            Settings::from_environment(
                all.map(|(name, value)| (format!("VOICE_CALLING_{name}"), value.to_owned())),
            )
            .unwrap()
        };
        let documented = documented();
        assert_eq!(documented.len(), 15);
        for (name, default) in documented {
            if default != "required" {
                assert!(
                    with(Some((name, default))) == with(None),
                    "{name}: {default}"
                );
            }
            let ours = SETTINGS.iter().find(|setting| setting.variable == name);
            if let Some(ours) = ours {
                assert_eq!(ours.default.unwrap_or("required"), default, "{name}");
            }
        }
    }
}
