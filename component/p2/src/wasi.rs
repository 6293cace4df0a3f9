//! WASI 0.2, and what both guests use of wasi:http by the names of WASI 0.3.

pub(crate) use crate::bindings::wasi::{cli, clocks, http, io, random};
pub(crate) use http::types::{
    ErrorCode, Fields, Method as HttpMethod, OutgoingRequest as HttpRequest, RequestOptions,
    Scheme as HttpScheme,
};
