//! A transport that disobeys.

use crate::fault::Fault;
use std::cell::Cell;
use voice_calling_core::{
    Delivery, Limits, Method, Request, Response, Scheme, SendError, Transport,
};

/// The real transport with its misbehaviour.
pub(crate) struct FaultyTransport<T> {
    pub(crate) real: T,
    pub(crate) fault: Fault,
    /// Whether any request met a rate limit.
    pub(crate) limited: Cell<bool>,
}

impl<T: Transport> Transport for FaultyTransport<T> {
    type Response = FaultyResponse<T::Response>;

    async fn send(&self, request: &Request, limits: Limits) -> Result<Self::Response, SendError> {
        if self.fault == Fault::LogsToken {
            for (name, value) in &request.headers {
                if *name == "auth_token" {
                    self.real.log(&format!("{name}: {value}")).await;
                }
            }
        }
        if self.fault == Fault::BeginsLate {
            self.real.sleep(limits.attempt_ms / 4 * 3).await;
        }
        if self.fault == Fault::GivesUpForOthers && self.limited.get() {
            return Err(SendError {
                delivery: Delivery::NotSent,
                message: "something met a rate limit".to_owned(),
            });
        }
        let copied = (self.fault == Fault::CopiesToken).then(|| with_copied_token(request));
        let request = copied.as_ref().unwrap_or(request);
        let mut sent = self.real.send(request, limits).await;
        let again = match self.fault {
            Fault::RepeatsRejections => sent.as_ref().is_ok_and(is_rejection),
            Fault::ReplaysUnknownOutcome => may_have_created(request, &sent),
            _ => false,
        };
        if again {
            sent = self.real.send(request, limits).await;
        }
        if self.fault == Fault::FollowsRedirects
            && let Ok(response) = &sent
            && let Some(redirected) = redirected(request, response)
        {
            sent = self.real.send(&redirected, limits).await;
        }
        self.limited
            .set(self.limited.get() || sent.as_ref().is_ok_and(|answer| answer.status() == 429));
        sent.map(|real| FaultyResponse {
            real,
            fault: self.fault,
        })
    }

    async fn sleep(&self, duration_ms: u64) {
        self.real.sleep(duration_ms).await;
    }

    fn now_ms(&self) -> u64 {
        self.real.now_ms()
    }

    fn unix_time_s(&self) -> u64 {
        self.real.unix_time_s()
    }

    fn random(&self) -> u64 {
        self.real.random()
    }

    fn is_cancelled(&self) -> bool {
        self.real.is_cancelled()
    }

    async fn log(&self, line: &str) {
        self.real.log(line).await;
    }
}

fn may_have_created<R>(request: &Request, sent: &Result<R, SendError>) -> bool {
    let unknown = |error: &SendError| error.delivery == Delivery::Unknown;
    request.method == Method::Post && sent.as_ref().is_err_and(unknown)
}

/// Returns `true` for a final answer: a 4xx that is neither a rate limit nor a timeout.
fn is_rejection(response: &impl Response) -> bool {
    matches!(response.status(), 400..=499) && ![408, 425, 429].contains(&response.status())
}

/// Returns the request with the token in a second header.
fn with_copied_token(request: &Request) -> Request {
    let mut copied = request.clone();
    let token = copied
        .headers
        .iter()
        .find(|(name, _)| *name == "auth_token");
    if let Some((_, token)) = token.cloned() {
        copied.headers.push(("authorization", token));
    }
    copied
}

/// Returns the request, token included, to the target of a redirect.
fn redirected(request: &Request, response: &impl Response) -> Option<Request> {
    if !(300..=399).contains(&response.status()) {
        return None;
    }
    let (_, location) = response.headers().find(|(name, _)| *name == "location")?;
    let location = std::str::from_utf8(location).ok()?;
    let mut redirected = request.clone();
    let path = match location.split_once("://") {
        Some((scheme, rest)) => {
            redirected.scheme = match scheme {
                "http" => Scheme::Http,
                _ => Scheme::Https,
            };
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            redirected.authority = authority.to_owned();
            path
        }
        None => location,
    };
    redirected.path_and_query = match path {
        "" => "/".to_owned(),
        path => path.to_owned(),
    };
    Some(redirected)
}

/// The real answer, and how it is misread.
pub(crate) struct FaultyResponse<R> {
    real: R,
    fault: Fault,
}

impl<R: Response> Response for FaultyResponse<R> {
    fn status(&self) -> u16 {
        self.real.status()
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let headers = self.real.headers();
        headers.filter(|(name, _)| match (self.fault, *name) {
            (Fault::IgnoresRetryAfter, "retry-after") | (Fault::HidesLocation, "location") => false,
            (Fault::PollsTooSoon, "retry-after") => !matches!(self.real.status(), 200..=299 | 404),
            _ => true,
        })
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        let chunk = self.real.chunk().await;
        let success = (200..=299).contains(&self.real.status());
        if self.fault == Fault::SwallowsBrokenBodies && success {
            return Ok(chunk.unwrap_or_default());
        }
        chunk
    }
}
