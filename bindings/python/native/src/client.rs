//! The client, which each process builds for itself.

use crate::batch::{Batch, Request};
use crate::errors::{exception, invalid_input, wait_timed_out};
use crate::ledger::Ledger;
use crate::operation::{Answer, Operation};
use crate::process::{Own, lock};
use crate::records::{self, Fields, ToPython};
use crate::testing::ScriptedService;
use crate::{hook, logs};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use voice_calling::{
    AgentConfig, AgentText, CallDetailsOutcome, CallDetailsWait, CallRequest, DocketCompleted,
    DocketOutcome, DocketRequest, DocketRequestV2, DocketWait, Verification, Wait, webhooks,
};

/// The largest number of milliseconds that the core takes.
const LONGEST_MS: f64 = u32::MAX as f64;

/// The parts from which each process builds a client of its own.
struct Parts {
    settings: Vec<(String, String)>,
    proxy: Option<String>,
    uses_proxies: bool,
    authorities: Option<Vec<u8>>,
    client_certificate: Option<Vec<u8>>,
    headers: Vec<(String, String)>,
    on_attempt: Option<Py<PyAny>>,
    ledger: Option<Py<Ledger>>,
    service: Option<Py<ScriptedService>>,
}

impl Parts {
    fn build(&self, py: Python<'_>) -> PyResult<voice_calling::Client> {
        let mut builder = voice_calling::Client::builder();
        for (name, value) in &self.settings {
            builder = builder.setting(name, value);
        }
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(proxy);
        }
        if !self.uses_proxies {
            builder = builder.no_proxy();
        }
        if let Some(pem) = &self.authorities {
            builder = builder.authorities(pem.as_slice());
        }
        if let Some(pem) = &self.client_certificate {
            builder = builder.client_certificate(pem.as_slice());
        }
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        if let Some(ledger) = &self.ledger {
            builder = builder.ledger(ledger.get().get(py)?);
        }
        if let Some(hook) = &self.on_attempt {
            let hook = hook.clone_ref(py);
            builder = builder.on_attempt(move |outgoing| {
                let on_end = hook::begin(&hook, outgoing);
                move |ended| {
                    if let Some(on_end) = on_end {
                        hook::end(&on_end, ended);
                    }
                }
            });
        }
        if let Some(service) = &self.service {
            builder = service.get().0.attach(builder);
        }
        let built = py.detach(|| builder.build());
        built.map_err(|error| exception(py, &error))
    }
}

struct Shared {
    /// `None` once the client is closed.
    parts: Mutex<Option<Arc<Parts>>>,
    built: Mutex<Option<Own<voice_calling::Client>>>,
}

/// Options that replace those of a client: `account`, `timeout` in seconds, `max_retries`.
type Options = (Option<String>, Option<f64>, Option<i64>);

/// `from_agent_name`, `to_phone_number`, `call_context`, `extra`.
type Call = (
    Option<String>,
    String,
    Vec<(String, String)>,
    Option<String>,
);

#[pyclass(frozen, module = "voice_calling._native")]
pub(crate) struct Client {
    shared: Arc<Shared>,
    options: Options,
}

impl Client {
    /// Returns the client of this process.
    fn built(&self, py: Python<'_>) -> PyResult<voice_calling::Client> {
        let parts = lock(&self.shared.parts).clone();
        let parts = parts.ok_or_else(|| PyRuntimeError::new_err("the client is closed"))?;
        if let Some(client) = lock(&self.shared.built).as_ref().and_then(Own::get) {
            return Ok(client.clone());
        }
        // The lock is not held meanwhile: another thread may build one too, and one of them stays.
        let built = parts.build(py)?;
        let former = lock(&self.shared.built).replace(Own::new(built.clone()));
        drop(former);
        Ok(built)
    }

    /// Returns the client with the options of one call, whose timeout has this name.
    fn with(
        &self,
        py: Python<'_>,
        options: Options,
        timeout_name: &str,
        key: Option<String>,
    ) -> PyResult<voice_calling::Client> {
        logs::refresh(py)?;
        let mut client = self.built(py)?;
        let (account, timeout, max_retries) = options;
        if let Some(account) = account.or_else(|| self.options.0.clone()) {
            client = client.with_account(account);
        }
        if let Some(timeout) = timeout.or(self.options.1) {
            client = client.with_deadline(duration(py, timeout_name, timeout)?);
        }
        if let Some(max_retries) = max_retries.or(self.options.2) {
            client = client.with_max_attempts(attempts(py, max_retries)?);
        }
        Ok(match key {
            Some(key) => client.with_key(key),
            None => client,
        })
    }
}

/// Returns a time that is given in seconds.
fn duration(py: Python<'_>, name: &str, seconds: f64) -> PyResult<Duration> {
    let ms = (seconds * 1e3).round();
    match (1.0..=LONGEST_MS).contains(&ms) {
        true => Ok(Duration::from_millis(ms as u64)),
        false => Err(invalid_input(py, name, seconds, "0.001 seconds or more")),
    }
}

fn attempts(py: Python<'_>, max_retries: i64) -> PyResult<u32> {
    let attempts = max_retries.checked_add(1).and_then(|it| it.try_into().ok());
    let attempts = attempts.filter(|it| (1..=100).contains(it));
    attempts.ok_or_else(|| invalid_input(py, "max_retries", max_retries, "0 to 99"))
}

/// Returns the id of what is waited for, and how it is.
fn wait(
    py: Python<'_>,
    (id, timeout, not_found_is_pending): (String, f64, Option<bool>),
) -> PyResult<(String, Wait)> {
    let wait = Wait::within(duration(py, "timeout", timeout)?);
    let wait = match not_found_is_pending {
        Some(is_pending) => wait.not_found_is_pending(is_pending),
        None => wait,
    };
    Ok((id, wait))
}

#[pymethods]
impl Client {
    #[new]
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (
        settings, *, proxy, uses_proxies, authorities, client_certificate, headers, on_attempt, ledger,
        service
    ))]
    fn new(
        py: Python<'_>,
        settings: Vec<(String, String)>,
        proxy: Option<String>,
        uses_proxies: bool,
        authorities: Option<Vec<u8>>,
        client_certificate: Option<Vec<u8>>,
        headers: Vec<(String, String)>,
        on_attempt: Option<Py<PyAny>>,
        ledger: Option<Py<Ledger>>,
        service: Option<Py<ScriptedService>>,
    ) -> PyResult<Self> {
        let parts = Parts {
            settings,
            proxy,
            uses_proxies,
            authorities,
            client_certificate,
            headers,
            on_attempt,
            ledger,
            service,
        };
        let built = parts.build(py)?;
        Ok(Self {
            shared: Arc::new(Shared {
                parts: Mutex::new(Some(Arc::new(parts))),
                built: Mutex::new(Some(Own::new(built))),
            }),
            options: Options::default(),
        })
    }

    fn with_options(&self, py: Python<'_>, options: Options) -> PyResult<Self> {
        let (account, timeout, max_retries) = options;
        timeout.map(|it| duration(py, "timeout", it)).transpose()?;
        max_retries.map(|it| attempts(py, it)).transpose()?;
        Ok(Self {
            shared: self.shared.clone(),
            options: (
                account.or_else(|| self.options.0.clone()),
                timeout.or(self.options.1),
                max_retries.or(self.options.2),
            ),
        })
    }

    /// Refuses further operations. Those in flight are finished.
    fn close(&self) {
        let parts = lock(&self.shared.parts).take();
        let built = lock(&self.shared.built).take();
        drop((parts, built));
    }

    #[getter]
    fn is_closed(&self) -> bool {
        lock(&self.shared.parts).is_none()
    }

    /// Returns the operation that has this name in Rust, of its argument.
    #[pyo3(signature = (name, argument, options, key=None))]
    fn operation(
        &self,
        py: Python<'_>,
        name: &str,
        argument: &Bound<'_, PyAny>,
        options: Options,
        key: Option<String>,
    ) -> PyResult<Operation> {
        let is_wait = name.starts_with("wait");
        let timeout_name = if is_wait { "poll_timeout" } else { "timeout" };
        let client = self.with(py, options, timeout_name, key)?;
        macro_rules! operation {
            ($method:ident, $argument:expr $(, $wait:ident)?) => {{
                let argument = $argument;
                Operation::new(async move { client.$method(&argument $(, $wait)?).await })
            }};
        }
        let text = || argument.extract::<String>();
        Ok(match name {
            "create_agent" => operation!(create_agent, agent_config(argument.cast()?)?),
            "list_agents" => operation!(list_agents, text()?),
            "make_call" => operation!(make_call, call_request(argument.extract()?)),
            "get_call_details" => operation!(get_call_details, text()?),
            "wait_for_call_details" => {
                let (task_id, wait) = wait(py, argument.extract()?)?;
                operation!(wait_for_call_details, task_id, wait)
            }
            "create_docket" => operation!(create_docket, docket_request_v1(argument.extract()?)),
            "create_docket_v2" => {
                let request = docket_request(argument.extract()?);
                let external_id = request.external_id.clone();
                let create = async move { client.create_docket_v2(&request).await };
                Operation::of(external_id, create)
            }
            "get_docket" => operation!(get_docket, text()?),
            "wait_for_docket" => {
                let (docket_id, wait) = wait(py, argument.extract()?)?;
                operation!(wait_for_docket, docket_id, wait)
            }
            "verify_docket_completed" => operation!(verify_docket_completed, text()?),
            other => return Err(PyValueError::new_err(format!("no operation is {other:?}"))),
        })
    }

    /// Returns a batch of these requests, or of those that it is given one by one.
    fn create_dockets_v2(
        &self,
        py: Python<'_>,
        requests: Option<Vec<(Request, Option<String>)>>,
        timeout: f64,
        options: Options,
    ) -> PyResult<Batch> {
        let client = self.with(py, options, "item_timeout", None)?;
        let timeout = duration(py, "timeout", timeout)?;
        Ok(Batch::new(&client, requests, timeout))
    }
}

#[pyfunction]
pub(crate) fn parse_docket_completed(py: Python<'_>, body: String) -> PyResult<Option<Py<PyAny>>> {
    let parsed = webhooks::parse_docket_completed(&body);
    let parsed: Option<DocketCompleted> = parsed.map_err(|error| exception(py, &error))?;
    let completed = parsed.map(|it| it.to_python(py)).transpose()?;
    Ok(completed.map(Bound::unbind))
}

fn call_request((from_agent_name, to_phone_number, call_context, extra): Call) -> CallRequest {
    CallRequest {
        from_agent_name,
        to_phone_number,
        call_context,
        extra,
    }
}

fn docket_request_v1(
    (agent_id, to_phone_number, call_context, _, extra): Request,
) -> DocketRequest {
    DocketRequest {
        agent_id,
        to_phone_number,
        call_context,
        extra,
    }
}

pub(crate) fn docket_request(docket: Request) -> DocketRequestV2 {
    let (agent_id, to_phone_number, call_context, external_id, extra) = docket;
    DocketRequestV2 {
        agent_id,
        to_phone_number,
        call_context,
        external_id,
        extra,
    }
}

/// Returns the configuration of the arguments that were given.
fn agent_config(agent: &Bound<'_, PyDict>) -> PyResult<AgentConfig> {
    fn get<'py, T: FromPyObjectOwned<'py, Error: Into<PyErr>>>(
        agent: &Bound<'py, PyDict>,
        name: &str,
    ) -> PyResult<Option<T>> {
        let value = agent.get_item(name)?.filter(|it| !it.is_none());
        let value = value.map(|it| it.extract().map_err(Into::into));
        value.transpose()
    }
    let text = |name| {
        let text: Option<(String, Option<String>)> = get(agent, name)?;
        PyResult::Ok(text.map(|(default_text, extra)| AgentText {
            default_text,
            extra,
        }))
    };
    Ok(AgentConfig {
        prompt: text("prompt")?,
        agent_name: get(agent, "agent_name")?.unwrap_or_default(),
        agent_phone_number: get(agent, "agent_phone_number")?,
        voice_id: get(agent, "voice_id")?,
        version: get(agent, "version")?,
        welcome_text: text("welcome_text")?,
        tools: get(agent, "tools")?,
        enabled: get(agent, "enabled")?,
        save_stats: get(agent, "save_stats")?,
        server_type: get(agent, "server_type")?,
        call_type: get(agent, "call_type")?,
        created_at: get(agent, "created_at")?,
        updated_at: get(agent, "updated_at")?,
        extra: get(agent, "extra")?,
    })
}

macro_rules! waits {
    ($($wait:ident: $outcome:ident),*) => {$(
        impl Answer for $wait {
            fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                let last = match &self.outcome {
                    $outcome::Completed(done) => return done.to_python(py).map(Bound::unbind),
                    $outcome::Pending(last) => last.to_python(py)?,
                };
                let arguments = PyDict::new(py);
                arguments.set_item("last", last)?;
                arguments.set_item("polls", self.polls)?;
                arguments.set_item("failed_polls", self.failed_polls)?;
                arguments.set_item("waited", f64::from(self.waited_ms) / 1e3)?;
                arguments.set_item("held_back", f64::from(self.held_back_ms) / 1e3)?;
                Err(wait_timed_out(py, &arguments))
            }
        }
    )*};
}

waits!(CallDetailsWait: CallDetailsOutcome, DocketWait: DocketOutcome);

impl Answer for Verification {
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (class, completion) = match self {
            Self::NotACompletion => return Ok(py.None()),
            Self::Confirmed(completion) => ("Confirmed", completion),
            Self::Contradicted(completion) => ("Contradicted", completion),
        };
        let arguments = PyDict::new(py);
        completion.put_into(&arguments)?;
        let class = records::class(py, class)?;
        Ok(class.call((), Some(&arguments))?.unbind())
    }
}
