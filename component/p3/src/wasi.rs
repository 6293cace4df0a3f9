//! WASI 0.3, without the versions by which its packages differ from those of WASI 0.2, which the
//! types come with; and what both guests use of wasi:http.

pub(crate) use crate::bindings::wasi::{
    cli0_3_2 as cli, clocks0_3_2 as clocks, http0_3_2 as http, random0_3_2 as random,
};
pub(crate) use http::types::{
    ErrorCode, Fields, Method as HttpMethod, Request as HttpRequest, RequestOptions,
    Scheme as HttpScheme,
};
