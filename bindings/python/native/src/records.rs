//! Results as the dataclasses of the package.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use voice_calling::{
    AgentList, AgentSummary, Attempt, CallDetails, CallDetailsList, CallInsights, CallStatus,
    CreatedAgent, CreatedDocket, CreatedDocketV2, Docket, DocketCompleted, DocketInsights,
    DocketStatus, HttpResponse, NextAction, Problem, StartedCall, UserInterest, VerifiedCompletion,
};

/// A value that a field of a result has.
pub(crate) trait ToPython {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

/// A result, whose fields are the keyword arguments of its class.
pub(crate) trait Fields {
    const CLASS: &'static str;

    fn put_into(&self, arguments: &Bound<'_, PyDict>) -> PyResult<()>;
}

/// Returns a class of the package.
///
/// Neither classes nor the names of fields are kept in a `PyOnceLock`, as `intern!` does: the thread
/// that fills it may wait for the interpreter, and the child of a fork meanwhile would wait for that
/// thread for ever.
pub(crate) fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("voice_calling._records")?.getattr(name)
}

/// Returns the record that has these arguments besides its own.
pub(crate) fn make<'py, R: Fields>(
    arguments: &Bound<'py, PyDict>,
    record: &R,
) -> PyResult<Bound<'py, PyAny>> {
    record.put_into(arguments)?;
    class(arguments.py(), R::CLASS)?.call((), Some(arguments))
}

/// Names all fields of a record, so that the compiler finds one that is missing. Those after `json`
/// are JSON as text.
macro_rules! record {
    ($record:ident as $class:literal { $($field:ident),* $(; json $($json:ident),*)? }) => {
        impl Fields for $record {
            const CLASS: &'static str = $class;

            fn put_into(&self, arguments: &Bound<'_, PyDict>) -> PyResult<()> {
                let py = arguments.py();
                let $record { $($field,)* $($($json,)*)? } = self;
                $(arguments.set_item(stringify!($field), $field.to_python(py)?)?;)*
                $($(
                    let name = concat!(stringify!($json), "_json");
                    arguments.set_item(name, $json.to_python(py)?)?;
                )*)?
                Ok(())
            }
        }

        impl ToPython for $record {
            fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                make(&PyDict::new(py), self)
            }
        }
    };
}

record!(Attempt as "Attempt" { status, transport_error, started_ms, duration_ms });
record!(Problem as "Problem" { subject, found, allowed });
record!(AgentSummary as "AgentSummary" { agent_id, agent_name });
record!(AgentList as "AgentList" { agents, raw_json, request_id, attempts });
record!(CreatedAgent as "CreatedAgent" {
    agent_id, raw_json, raw_text, request_id, attempts, may_be_duplicate
});
record!(StartedCall as "StartedCall" { task_id, raw_json, request_id, attempts, may_be_duplicate });
record!(CallDetailsList as "CallDetailsList" { calls, raw_json, request_id, attempts });
record!(CallDetails as "CallDetails" {
    agent_name, call_insights, call_recording_url, from_number, to_number, call_status,
    call_duration_s; json call_context
});
record!(CallInsights as "CallInsights" { user_interest, next_action; json metadata });
record!(UserInterest as "UserInterest" { status, confidence_score, reasoning });
record!(NextAction as "NextAction" { value, reason });
record!(CreatedDocket as "CreatedDocketV1" {
    docket_id, status, raw_json, request_id, attempts, may_be_duplicate
});
record!(CreatedDocketV2 as "CreatedDocket" {
    docket_id, status, created, raw_json, request_id, attempts, may_be_duplicate
});
record!(Docket as "Docket" {
    docket_id, agent_name, status, call_type, from_number, to_phone_number, external_id,
    closed_call_id, latest_call_id, closure_reason, outbound_call_count, notification_status,
    first_called_at, closed_at, created_at, updated_at, raw_json, request_id, attempts;
    json call_context
});
record!(DocketCompleted as "DocketCompleted" {
    docket_id, call_insights, dashboard_url, raw_json; json call_context, attempts
});
record!(DocketInsights as "DocketInsights" { call_disposition; json call_metadata });
record!(VerifiedCompletion as "Verification" { delivered, docket, contradicted, unverified });

impl Fields for HttpResponse {
    const CLASS: &'static str = "HttpResponse";

    fn put_into(&self, arguments: &Bound<'_, PyDict>) -> PyResult<()> {
        let Self {
            status,
            body,
            body_cut,
            request_id,
            retry_after_ms,
        } = self;
        arguments.set_item("status", status)?;
        arguments.set_item("body", body)?;
        arguments.set_item("body_cut", body_cut)?;
        arguments.set_item("request_id", request_id)?;
        let retry_after = retry_after_ms.map(|ms| f64::from(ms) / 1e3);
        arguments.set_item("retry_after", retry_after)
    }
}

impl ToPython for HttpResponse {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        make(&PyDict::new(py), self)
    }
}

impl ToPython for DocketStatus {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = match self {
            Self::Open => "OPEN",
            Self::InProgress => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::Other(text) => text,
        };
        text.into_bound_py_any(py)
    }
}

impl ToPython for CallStatus {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = match self {
            Self::Answered => "ANSWERED",
            Self::NoAnswer => "NO_ANSWER",
            Self::Busy => "BUSY",
            Self::Other(text) => text,
        };
        text.into_bound_py_any(py)
    }
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl ToPython for $type {
            fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.into_bound_py_any(py)
            }
        }
    )*};
}

plain!(bool, f64, i64, u16, u32, usize, String);

impl<T: ToPython> ToPython for Option<T> {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Some(value) => value.to_python(py),
            None => Ok(py.None().into_bound(py)),
        }
    }
}

impl<T: ToPython> ToPython for Vec<T> {
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let items = self.iter().map(|item| item.to_python(py));
        let items = items.collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, items)?.into_any())
    }
}
