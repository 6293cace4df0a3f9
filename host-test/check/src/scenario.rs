//! A scenario: how a component is set up and called, and what the service does
//! meanwhile. Run, it gives everything that can be seen from outside.

use crate::operation::{Arguments, Operation, Returned};
use crate::script::{Script, Sent, Step};
use anyhow::{Context, Result};
use std::borrow::Cow;
use std::time::Duration;
use strum::IntoStaticStr;
use voice_calling_host::clock::Clock;
use voice_calling_host::guest::limits::Limits;
use voice_calling_host::guest::settings::{InstanceSettings, Stderr};
use voice_calling_host::network::reach::Reach;
use voice_calling_host::types::CallOptions;
use voice_calling_host::{Instance, Plugin};

/// The token that every scenario gives. It is searched for wherever it does not belong.
///
/// JSON writes some of it in other ways.
pub const CANARY: &str = r#"canary-5f/1e"0c\77+a1'b2<d4e6"#;

/// The service of every scenario, unless it is about another.
pub const BASE_URL: &str = "http://127.0.0.1";

/// Of a guest in a scenario: what `host-test check` promises of ours, and then some.
const LIMITS: Limits = Limits {
    memory_bytes: 512 << 20,
    computing: Duration::from_secs(5),
};

/// No scenario takes so long, even in virtual time.
const FOR_EVER: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The longest pauses: half of the ceilings 2000, 4000 and 8000 of the default settings is
/// drawn, and this number leaves 1000, 2000 and 4000 as remainders of one more.
pub const LONGEST_JITTER: u64 = 1_001 * 2_001 * 4_001 - 1;

/// The settings that scenarios vary; all others are left out.
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

/// After what a create is sent again.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum CreateRetry {
    ServerErrors,
    NotSent,
    Never,
}

impl Default for Settings {
    /// Those of the component.
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
    /// As variables. What is a default is left out, so that defaults are tried as well.
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

/// A step of the service's script, with what it means to a component that is right.
#[derive(Clone, Debug)]
pub struct Turn {
    /// What the service does.
    pub step: Step,
    /// Whether a 2xx that came whole satisfies the operation.
    pub satisfies: Satisfies,
    /// Whether it then is what a wait waits for.
    pub ready: bool,
}

/// Whether a 2xx that came whole satisfies the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Satisfies {
    /// No: it cannot be understood.
    No,
    /// Yes.
    Yes,
    /// It is well-formed, but so odd that a component may refuse to understand it.
    Perhaps,
}

impl Turn {
    /// The same meaning of another step.
    pub fn with(self, step: Step) -> Self {
        Self { step, ..self }
    }
}

impl From<Step> for Turn {
    /// One that satisfies nobody.
    fn from(step: Step) -> Self {
        Self {
            step,
            satisfies: Satisfies::No,
            ready: false,
        }
    }
}

/// How a component is set up and called, and what the service does meanwhile.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is, for people.
    pub name: String,
    /// Where it comes from, if it is a random history.
    pub seed: Option<u64>,
    /// The function.
    pub operation: Operation,
    /// Its arguments.
    pub arguments: Arguments,
    /// The component's settings.
    pub settings: Settings,
    /// `BASE_URL`
    pub base_url: Cow<'static, str>,
    /// `API_TOKEN`
    pub token: Cow<'static, str>,
    /// The case in which it has to end with nothing sent, if it has to.
    pub refused: Option<&'static str>,
    /// What the service does; the last is for all further requests.
    pub turns: Vec<Turn>,
    /// Every number that the guest draws.
    pub random: u64,
    /// The date at its beginning. Unit: seconds since 1970.
    pub unix_time_s: u64,
}

impl Scenario {
    /// Default settings and arguments, and the longest pauses.
    pub fn new(
        name: impl Into<String>,
        operation: Operation,
        turns: impl IntoIterator<Item = Turn>,
    ) -> Self {
        Self {
            name: name.into(),
            seed: None,
            operation,
            arguments: Arguments::default(),
            settings: Settings::default(),
            base_url: BASE_URL.into(),
            token: CANARY.into(),
            refused: None,
            turns: turns.into_iter().collect(),
            random: LONGEST_JITTER,
            // Sun, 06 Nov 1994 08:49:37 GMT
            unix_time_s: 784_111_777,
        }
    }

    /// An answer that satisfies the operation.
    pub fn satisfying(operation: Operation) -> Turn {
        Turn {
            step: Step::ok(operation.satisfying()),
            satisfies: Satisfies::Yes,
            ready: true,
        }
    }

    /// One in which nothing may be sent, and the error has this case.
    pub fn refused(name: &str, operation: Operation, case: &'static str) -> Self {
        Self {
            refused: Some(case),
            ..Self::new(name, operation, [Self::satisfying(operation)])
        }
    }

    /// The same with other settings.
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Runs it. Nothing real passes but the time to compute: the clock must be paused.
    pub async fn run(&self, subject: &Subject) -> Run {
        let steps = self.turns.iter().map(|turn| turn.step.clone());
        let script = Script::new(steps.collect::<Vec<_>>());
        let clock = Clock::start();
        let mut run = Run {
            scenario: self.clone(),
            returned: Ok(Vec::new()),
            ended_ms: 0,
            sent: Vec::new(),
            origins: Vec::new(),
            stderr: String::new(),
            memory_bytes: 0,
        };
        let returned = self.call(subject, &script, &mut run).await;
        run.returned = returned.map_err(|error| format!("{error:#}"));
        run.ended_ms = u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX);
        run.sent = script.sent();
        let exchanges = script.outgoing().recorder.exchanges().into_iter();
        run.origins = exchanges.map(|exchange| exchange.origin).collect();
        run
    }

    async fn call(
        &self,
        subject: &Subject,
        script: &Script,
        run: &mut Run,
    ) -> Result<Vec<Returned>> {
        let mut outgoing = script.outgoing();
        if self.remote_host().is_some() {
            // In memory nothing is remote: the component itself has to refuse it.
            outgoing.reach = Reach::of_url(&self.base_url)?;
        }
        let required = [("BASE_URL", &self.base_url), ("API_TOKEN", &self.token)];
        let mut environment: Vec<_> = required
            .map(|(name, value)| (format!("VOICE_CALLING_{name}"), value.to_string()))
            .into();
        environment.extend(self.settings.environment());
        environment.extend(subject.environment.iter().cloned());
        let mut settings = InstanceSettings::new(environment, outgoing);
        settings.randomness = Some(self.random.to_be_bytes().to_vec());
        settings.date = Some(Duration::from_secs(self.unix_time_s));
        settings.limits = LIMITS;
        settings.stderr = Stderr::kept();
        let mut instance = self.instance(subject, settings).await?;
        let stderr_before = instance.stderr();
        let options = self.settings.options();
        let call = self.operation.call(&mut instance, self.arguments, options);
        let returned = tokio::time::timeout(FOR_EVER, call).await;
        let stderr = instance.stderr();
        let now = stderr.strip_prefix(&stderr_before);
        run.stderr = now.unwrap_or(&stderr).to_owned();
        run.memory_bytes = instance.memory_bytes();
        returned.context("no end within a week of virtual time")?
    }

    /// A fresh instance, or one that has served the same function before, to a service
    /// that was content with it.
    async fn instance(&self, subject: &Subject, settings: InstanceSettings) -> Result<Instance> {
        if !subject.is_reused {
            return subject.plugin.instantiate(settings).await;
        }
        let outgoing = settings.outgoing.clone();
        let content = Script::new([Self::satisfying(self.operation).step]);
        let before = InstanceSettings {
            outgoing: content.outgoing(),
            ..settings
        };
        let mut instance = subject.plugin.instantiate(before).await?;
        self.operation
            .call(&mut instance, Arguments::default(), None)
            .await?;
        instance.set_outgoing(outgoing);
        Ok(instance)
    }

    /// The service's host, where it is not this machine.
    pub fn remote_host(&self) -> Option<&str> {
        let host = self.base_url.split("://").nth(1);
        host.filter(|_| !self.base_url.starts_with(BASE_URL))
    }
}

/// A component under judgement.
#[derive(Clone)]
pub struct Subject {
    /// The component.
    pub plugin: Plugin,
    /// Variables that it gets besides its settings.
    pub environment: Vec<(String, String)>,
    /// Whether each scenario meets an instance that was used before instead of a fresh one.
    pub is_reused: bool,
}

impl From<Plugin> for Subject {
    /// One that gets its settings and nothing else, afresh for each scenario.
    fn from(plugin: Plugin) -> Self {
        Self {
            plugin,
            environment: Vec::new(),
            is_reused: false,
        }
    }
}

/// What was to be seen of a scenario from outside.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was played.
    pub scenario: Scenario,
    /// What the function returned, or why the host could not go on.
    pub returned: Result<Vec<Returned>, String>,
    /// When. Unit: milliseconds since the call began.
    pub ended_ms: u64,
    /// The requests that the service saw.
    pub sent: Vec<Sent>,
    /// Where requests went, those too that were denied.
    pub origins: Vec<String>,
    /// What the guest wrote.
    pub stderr: String,
    /// The size of its memories.
    pub memory_bytes: usize,
}
