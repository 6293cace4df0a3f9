//! The engine's API, of which one request is used.

use wasi::clocks::monotonic_clock;
use wasi::http::outgoing_handler;
use wasi::http::types::{
    ErrorCode, Fields, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasi::io::poll::poll;

const URL: &str = "OBELISK_API_URL";

/// In it is a placeholder, which the engine replaces on the way.
const TOKEN: &str = "OBELISK_API_TOKEN";

/// How long an answer may take.
const ANSWER_MS: u64 = 1_500;

const NANOSECONDS_PER_MS: u64 = 1_000_000;

/// The node that runs this, or any other one on the same database.
#[derive(Debug, PartialEq, Eq)]
pub struct Engine {
    is_secure: bool,
    authority: String,
    token: String,
}

impl Engine {
    /// Reads the environment; the error says what is wrong with it.
    pub fn of(environment: &[(String, String)]) -> Result<Self, String> {
        let variable = |name: &str| {
            let mut variables = environment.iter();
            let found = variables.find_map(|(key, value)| (key == name).then(|| value.clone()));
            found.ok_or_else(|| format!("{name} is not set"))
        };
        let (url, token) = (variable(URL)?, variable(TOKEN)?);
        let (is_secure, authority) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err(format!("{URL} is {url:?}, which is no http or https URL")),
        };
        if authority.is_empty() || authority.contains('/') {
            return Err(format!("{URL} is {url:?}; a host and no path are allowed"));
        }
        Ok(Self {
            is_secure,
            authority: authority.to_owned(),
            token,
        })
    }

    /// `PUT /v1/executions/{id}/stub`, which writes a value into a stub execution unless another
    /// one is there: the status of the answer.
    pub fn stub(&self, id: &str, value: &str) -> Result<u16, String> {
        let deadline = monotonic_clock::subscribe_duration(ANSWER_MS * NANOSECONDS_PER_MS);
        let request = self
            .request(id)
            .map_err(|()| format!("{id:?} is no id of an execution"))?;
        let body = request.body().map_err(|()| "no body".to_owned())?;
        let options = RequestOptions::new();
        let _ = options.set_connect_timeout(Some(ANSWER_MS * NANOSECONDS_PER_MS));
        let _ = options.set_first_byte_timeout(Some(ANSWER_MS * NANOSECONDS_PER_MS));
        let said = |error: ErrorCode| format!("{error:?}");
        let response = outgoing_handler::handle(request, Some(options)).map_err(said)?;
        let stream = body.write().map_err(|()| "no body".to_owned())?;
        let written = stream.blocking_write_and_flush(value.as_bytes());
        drop(stream);
        // Where it broke off, the answer says why.
        if written.is_ok() {
            let _ = OutgoingBody::finish(body, None);
        }
        let ready = response.subscribe();
        poll(&[&ready, &deadline]);
        match response.get() {
            Some(Ok(Ok(answer))) => Ok(answer.status()),
            Some(Ok(Err(error))) => Err(said(error)),
            Some(Err(())) => Err("no answer".to_owned()),
            None => Err(format!("no answer in {ANSWER_MS} ms")),
        }
    }

    fn request(&self, id: &str) -> Result<OutgoingRequest, ()> {
        let headers = [
            ("authorization", format!("Bearer {}", self.token)),
            ("content-type", "application/json".to_owned()),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.into_bytes()));
        let headers = Fields::from_list(&headers).map_err(|_| ())?;
        let request = OutgoingRequest::new(headers);
        let scheme = match self.is_secure {
            true => Scheme::Https,
            false => Scheme::Http,
        };
        request.set_method(&Method::Put)?;
        request.set_scheme(Some(&scheme))?;
        request.set_authority(Some(&self.authority))?;
        request.set_path_with_query(Some(&format!("/v1/executions/{id}/stub")))?;
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<Engine, String> {
        let variables = [(URL, url), (TOKEN, "placeholder")];
        Engine::of(&variables.map(|(name, value)| (name.to_owned(), value.to_owned())))
    }

    #[test]
    fn the_engine_is_a_host_and_no_path() {
        let engine = of("http://127.0.0.1:5005").unwrap();
        assert_eq!(
            (engine.is_secure, &*engine.authority),
            (false, "127.0.0.1:5005")
        );
        assert!(of("https://engine.example").unwrap().is_secure);
        for url in ["", "127.0.0.1:5005", "ftp://a", "http://", "http://a/b"] {
            assert!(of(url).is_err_and(|error| error.contains(URL)), "{url}");
        }
    }

    #[test]
    fn what_is_not_set_is_named() {
        assert_eq!(Engine::of(&[]), Err(format!("{URL} is not set")));
    }
}
