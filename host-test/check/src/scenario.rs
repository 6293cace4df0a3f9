//! A scenario: how a component is set up and called, and what the service does meanwhile. Running
//! it records everything that is observable from outside.

use crate::operation::{Arguments, Operation, Returned};
use crate::script::{Piece, Script, Sent, Step};
use anyhow::{Context, Error, Result};
use bytes::Bytes;
use std::borrow::Cow;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use strum::IntoStaticStr;
use voice_calling_host::clock::Clock;
use voice_calling_host::guest::limits::Limits;
use voice_calling_host::guest::settings::{InstanceSettings, Stderr};
use voice_calling_host::types::CallOptions;
use voice_calling_host::{InMemoryNetwork, Instance, Outgoing, Plugin};

/// The token of every scenario, which is searched for wherever it does not belong.
///
/// JSON escapes some of its characters.
pub const CANARY: &str = r#"canary-5f/1e"0c\77+a1'b2<d4e6"#;

/// The base URL of every scenario, unless it tests another.
pub const BASE_URL: &str = "http://127.0.0.1";

/// The limits of a guest in a scenario, above those that `host-test check` requires.
const LIMITS: Limits = Limits {
    memory_bytes: 512 << 20,
    cpu_time: Duration::from_secs(10),
};

/// A time that no scenario takes, even in virtual time.
const FOR_EVER: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The time at which scenarios begin, in seconds since 1970: Sun, 06 Nov 1994 08:49:37 GMT.
pub const BEGUN_UNIX_S: u64 = 784_111_777;

/// A number that draws the longest pauses: half of the ceilings 2000, 4000 and 8000 of the default
/// settings is drawn, and modulo one more this number leaves 1000, 2000 and 4000.
pub const LONGEST_JITTER: u64 = 1_001 * 2_001 * 4_001 - 1;

/// The settings that scenarios vary. All others are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `MAX_ATTEMPTS`
    pub max_attempts: u32,
    /// `BACKOFF_MS`
    pub backoff_ms: u64,
    /// `MAX_BACKOFF_MS`
    pub max_backoff_ms: u64,
    /// `ATTEMPT_TIMEOUT_MS`
    pub attempt_timeout_ms: u64,
    /// `DEADLINE_MS`
    pub deadline_ms: u64,
    /// `CREATE_RETRY`
    pub create_retry: CreateRetry,
    /// `TRUST_CONNECTION_TIMEOUT`
    pub trust_connection_timeout: bool,
    /// `MAX_IN_FLIGHT`
    pub max_in_flight: usize,
    /// Whether `LOG` is `attempts`.
    pub log: bool,
    /// Whether `MAX_ATTEMPTS` and `DEADLINE_MS` are options of the call instead.
    pub as_options: bool,
}

/// The outcomes after which a create is sent again.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum CreateRetry {
    ServerErrors,
    NotSent,
    Never,
}

impl Default for Settings {
    /// Returns the defaults of the component.
    fn default() -> Self {
        Self {
            max_attempts: 4,
            backoff_ms: 2_000,
            max_backoff_ms: 8_000,
            attempt_timeout_ms: 10_000,
            deadline_ms: 30_000,
            create_retry: CreateRetry::ServerErrors,
            trust_connection_timeout: false,
            max_in_flight: 16,
            log: false,
            as_options: false,
        }
    }
}

impl Settings {
    /// Returns the environment variables without default values, so that defaults are tested too.
    fn environment(&self) -> Vec<(String, String)> {
        let own = self.variables().into_iter();
        let changed = own.zip(Self::default().variables());
        let options = ["MAX_ATTEMPTS", "DEADLINE_MS"];
        changed
            .filter(|(own, usual)| own != usual)
            .filter(|((name, _), _)| !(self.as_options && options.contains(name)))
            .map(|((name, value), _)| (format!("VOICE_CALLING_{name}"), value))
            .collect()
    }

    fn variables(&self) -> [(&'static str, String); 9] {
        let create_retry: &str = self.create_retry.into();
        let log = match self.log {
            true => "attempts",
            false => "off",
        };
        [
            ("MAX_ATTEMPTS", self.max_attempts.to_string()),
            ("BACKOFF_MS", self.backoff_ms.to_string()),
            ("MAX_BACKOFF_MS", self.max_backoff_ms.to_string()),
            ("ATTEMPT_TIMEOUT_MS", self.attempt_timeout_ms.to_string()),
            ("DEADLINE_MS", self.deadline_ms.to_string()),
            ("CREATE_RETRY", create_retry.to_owned()),
            (
                "TRUST_CONNECTION_TIMEOUT",
                self.trust_connection_timeout.to_string(),
            ),
            ("MAX_IN_FLIGHT", self.max_in_flight.to_string()),
            ("LOG", log.to_owned()),
        ]
    }

    fn options(&self) -> Option<CallOptions> {
        self.as_options.then(|| CallOptions {
            account: None,
            deadline_ms: u32::try_from(self.deadline_ms).ok(),
            max_attempts: Some(self.max_attempts),
        })
    }
}

/// A step of the service's script, with its meaning for a correct component.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The service's action.
    pub step: Step,
    /// Whether a complete 2xx satisfies the operation.
    pub satisfies: Satisfies,
    /// Whether a complete 2xx also ends a wait.
    pub ready: bool,
}

/// Whether a complete 2xx satisfies the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Satisfies {
    /// No: it cannot be understood.
    No,
    /// Yes.
    Yes,
    /// It is well-formed, but so unusual that a component may reject it.
    Perhaps,
}

impl Turn {
    /// Returns a turn with the same meaning and another step.
    pub fn with(self, step: Step) -> Self {
        Self { step, ..self }
    }

    /// Returns a 2xx that is not what the operation expects. The answer to a new agent is never
    /// parsed.
    pub fn strange(operation: Operation, step: Step) -> Self {
        Self {
            satisfies: match operation {
                Operation::CreateAgent => Satisfies::Yes,
                _ => Satisfies::No,
            },
            ..step.into()
        }
    }
}

impl From<Step> for Turn {
    /// Returns a turn that satisfies no operation.
    fn from(step: Step) -> Self {
        Self {
            step,
            satisfies: Satisfies::No,
            ready: false,
        }
    }
}

/// Returns the answer to a docket of a batch, with the docket's `external_id` as its id, and
/// `padding` at its end.
pub fn created_docket(padding: impl Into<Vec<u8>>) -> [Piece; 5] {
    [
        Piece::Bytes(Bytes::from_static(b"{\"docket_id\":\"")),
        Piece::ExternalId,
        Piece::Bytes(Bytes::from_static(
            b"\",\"status\":\"OPEN\",\"created\":true,\"x\":\"",
        )),
        Piece::Bytes(padding.into().into()),
        Piece::Bytes(Bytes::from_static(b"\"}")),
    ]
}

/// The set-up and the call of a component, and the service's actions meanwhile.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name, for people to read.
    pub name: String,
    /// The function to call.
    pub operation: Operation,
    /// Its arguments.
    pub arguments: Arguments,
    /// The component's settings.
    pub settings: Settings,
    /// `BASE_URL`
    pub base_url: Cow<'static, str>,
    /// `API_TOKEN`
    pub token: Cow<'static, str>,
    /// The failure's kind, if the call must end in it without a request.
    pub refused: Option<&'static str>,
    /// The service's turns; the last one serves all further requests.
    pub turns: Vec<Turn>,
    /// The value of every random number that the guest draws.
    pub random: u64,
    /// The time at which the scenario begins, in seconds since 1970.
    pub unix_time_s: u64,
}

impl Scenario {
    /// Returns a scenario with default settings and arguments, and the longest pauses.
    pub fn new(
        name: impl Into<String>,
        operation: Operation,
        turns: impl IntoIterator<Item = Turn>,
    ) -> Self {
        Self {
            name: name.into(),
            operation,
            arguments: Arguments::default(),
            settings: Settings::default(),
            base_url: BASE_URL.into(),
            token: CANARY.into(),
            refused: None,
            turns: turns.into_iter().collect(),
            random: LONGEST_JITTER,
            unix_time_s: BEGUN_UNIX_S,
        }
    }

    /// Returns an answer that satisfies the operation.
    pub fn satisfying(operation: Operation) -> Turn {
        Turn {
            step: Step::ok(operation.satisfying()),
            satisfies: Satisfies::Yes,
            ready: true,
        }
    }

    /// Returns a scenario in which no request may be sent and the failure has this kind.
    pub fn refused(name: &str, operation: Operation, kind: &'static str) -> Self {
        Self {
            refused: Some(kind),
            ..Self::new(name, operation, [Self::satisfying(operation)])
        }
    }

    /// Returns the scenario with other settings.
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Runs the scenario. The clock must be paused: only computing takes real time.
    pub async fn run(&self, subject: &Subject) -> Run {
        let steps = self.turns.iter().map(|turn| turn.step.clone());
        let script = Script::new(steps.collect::<Vec<_>>());
        let clock = Clock::start();
        let mut run = Run {
            scenario: self.clone(),
            returned: Ok(Vec::new()),
            ended_ms: 0,
            sent: Vec::new(),
            stderr: String::new(),
            memory_bytes: 0,
        };
        let returned = self.call(subject, &script, &mut run).await;
        run.returned = returned.map_err(|error| reason(&error));
        run.ended_ms = u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
        run.sent = script.sent();
        run
    }

    async fn call(
        &self,
        subject: &Subject,
        script: &Script,
        run: &mut Run,
    ) -> Result<Vec<Returned>> {
        let required = [("BASE_URL", &self.base_url), ("API_TOKEN", &self.token)];
        let mut environment: Vec<_> = required
            .map(|(name, value)| (format!("VOICE_CALLING_{name}"), value.to_string()))
            .into();
        environment.extend(self.settings.environment());
        environment.extend(subject.environment.iter().cloned());
        let mut settings = InstanceSettings::new(environment, script.outgoing());
        settings.randomness = Some(self.random.to_be_bytes().to_vec());
        settings.date = Some(Duration::from_secs(self.unix_time_s));
        settings.limits = LIMITS;
        settings.stderr = Stderr::kept();
        let mut instance = self.instance(subject, settings).await?;
        let stderr_before = instance.sandbox.stderr();
        let options = self.settings.options();
        let call = self.operation.call(&mut instance, self.arguments, options);
        let returned = tokio::time::timeout(FOR_EVER, call).await;
        let stderr = instance.sandbox.stderr();
        let now = stderr.strip_prefix(&stderr_before);
        run.stderr = now.unwrap_or(&stderr).to_owned();
        run.memory_bytes = instance.sandbox.memory_bytes();
        returned.context("no end within a week of virtual time")?
    }

    /// Returns a fresh instance, or one that has called the same function before, on a service that
    /// satisfied it.
    async fn instance(
        &self,
        subject: &Subject,
        mut settings: InstanceSettings,
    ) -> Result<Instance> {
        if !subject.is_reused {
            return subject.plugin.instantiate(settings).await;
        }
        let content = Script::new([Self::satisfying(self.operation).step]);
        let current = Arc::new(Mutex::new(content.outgoing().network));
        let network = current.clone();
        let send = move |request, options| network.lock().expect("no panic").send(request, options);
        let played = mem::replace(
            &mut settings.outgoing,
            Outgoing::over(InMemoryNetwork(send)),
        );
        let mut instance = subject.plugin.instantiate(settings).await?;
        self.operation
            .call(&mut instance, Arguments::default(), None)
            .await?;
        *current.lock().expect("no panic") = played.network;
        Ok(instance)
    }

    /// Returns the service's host if it is not this machine.
    pub fn remote_host(&self) -> Option<&str> {
        let host = self.base_url.split("://").nth(1);
        host.filter(|_| !self.base_url.starts_with(BASE_URL))
    }
}

/// Returns why the host ended a call, without wasmtime's backtrace, which has addresses alone.
fn reason(error: &Error) -> String {
    let causes = error.chain().map(ToString::to_string);
    let causes =
        causes.filter(|cause| !cause.starts_with("error while executing at wasm backtrace"));
    causes.collect::<Vec<_>>().join(": ")
}

/// A component under judgement.
#[derive(Clone)]
pub struct Subject {
    /// The component.
    pub plugin: Plugin,
    /// Environment variables beyond the component's settings.
    pub environment: Vec<(String, String)>,
    /// Whether each scenario uses an instance that was used before instead of a fresh one.
    pub is_reused: bool,
}

impl From<Plugin> for Subject {
    /// Returns a subject without further variables and with a fresh instance for each scenario.
    fn from(plugin: Plugin) -> Self {
        Self {
            plugin,
            environment: Vec::new(),
            is_reused: false,
        }
    }
}

/// The observations of a scenario from outside.
#[derive(Clone, Debug)]
pub struct Run {
    /// The scenario that was played.
    pub scenario: Scenario,
    /// The function's result, or the host's error.
    pub returned: Result<Vec<Returned>, String>,
    /// The time at which the call ended, in milliseconds since it began.
    pub ended_ms: u64,
    /// The requests that the service received.
    pub sent: Vec<Sent>,
    /// The guest's output.
    pub stderr: String,
    /// The size of the guest's memories.
    pub memory_bytes: usize,
}
