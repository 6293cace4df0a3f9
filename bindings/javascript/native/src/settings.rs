//! The options of a client, as settings of the Rust client.

use crate::arguments::{read, type_of};
use crate::errors::{camel_case, configuration_error};
use napi::ValueType;
use napi::bindgen_prelude::{Object, Uint8Array, Unknown};
use std::collections::HashMap;
use voice_calling::{Builder, Client, Error, Failure};

/// Options of the connections, which an account does not have.
const OF_CONNECTIONS: [&str; 4] = ["proxy", "authorities", "clientCertificate", "headers"];

/// The settings of a client.
pub struct Settings {
    builder: Builder,
    /// The names of the accounts.
    accounts: Vec<String>,
    /// The options by the variables for which they stand.
    options: HashMap<String, String>,
}

impl Settings {
    /// Reads the options after the variables, whose names begin with `VOICE_CALLING_`.
    pub fn of(options: &Object<'_>, variables: HashMap<String, String>) -> Result<Self, Error> {
        let mut settings = Self {
            builder: Client::builder(),
            accounts: Vec::new(),
            options: HashMap::new(),
        };
        for (variable, value) in variables {
            let Some(name) = variable.strip_prefix("VOICE_CALLING_") else {
                continue;
            };
            match name {
                "ACCOUNTS" => settings
                    .accounts
                    .extend(value.split(',').map(str::to_owned)),
                _ => settings.builder = settings.builder.setting(name, value),
            }
        }
        for (name, value) in entries(options) {
            settings.read(&name, value)?;
        }
        if !settings.accounts.is_empty() {
            let accounts = settings.accounts.join(",");
            settings.builder = settings.builder.setting("ACCOUNTS", accounts);
        }
        Ok(settings)
    }

    fn read(&mut self, name: &str, value: Unknown<'_>) -> Result<(), Error> {
        let builder = std::mem::take(&mut self.builder);
        self.builder = match name {
            "accounts" => {
                self.builder = builder;
                return self.read_accounts(&object(name, value)?);
            }
            "proxy" => match value.get_type() {
                Ok(ValueType::Boolean) if !read::<bool>(value)? => builder.no_proxy(),
                _ => builder.proxy(&text(name, value)?),
            },
            "authorities" => builder.authorities(pem(name, value)?),
            "clientCertificate" => builder.client_certificate(pem(name, value)?),
            "headers" => {
                let mut builder = builder;
                for (header, value) in entries(&object(name, value)?) {
                    builder = builder.header(&header, &text(&format!("headers.{header}"), value)?);
                }
                builder
            }
            _ => {
                let (variable, value) = self.setting("", name, value)?;
                builder.setting(&variable, value)
            }
        };
        Ok(())
    }

    fn read_accounts(&mut self, accounts: &Object<'_>) -> Result<(), Error> {
        for (account, value) in entries(accounts) {
            let subject = format!("accounts.{account}");
            let prefix = format!("{}_", account.to_ascii_uppercase().replace('-', "_"));
            for (name, value) in entries(&object(&subject, value)?) {
                let path = format!("{subject}.{name}");
                if OF_CONNECTIONS.contains(&name.as_str()) {
                    let allowed = "an option of the client, for all accounts";
                    return Err(configuration_error(&path, type_of(&value), allowed));
                }
                let (variable, value) = self.setting(&prefix, &name, value)?;
                self.options
                    .insert(format!("VOICE_CALLING_{variable}"), path);
                self.builder = std::mem::take(&mut self.builder).setting(&variable, value);
            }
            if !self.accounts.contains(&account) {
                self.accounts.push(account);
            }
        }
        Ok(())
    }

    /// Returns the variable for which an option stands, and its value.
    fn setting(
        &mut self,
        prefix: &str,
        name: &str,
        value: Unknown<'_>,
    ) -> Result<(String, String), Error> {
        let variable = prefix.to_owned() + &variable_of(name);
        let option = name.to_owned();
        self.options
            .insert(format!("VOICE_CALLING_{variable}"), option);
        let text = match (name, value.get_type()) {
            ("maxRetries", Ok(ValueType::Number)) => {
                let retries: f64 = read(value)?;
                if retries.fract() != 0.0 || !(0.0..=99.0).contains(&retries) {
                    let found = retries.to_string();
                    return Err(configuration_error(name, found, "an integer, 0 to 99"));
                }
                (retries + 1.0).to_string()
            }
            ("maxRetries", _) => {
                return Err(configuration_error(
                    name,
                    type_of(&value),
                    "an integer, 0 to 99",
                ));
            }
            ("token" | "baseUrl" | "createRetry", _) => self::text(name, value)?,
            (_, Ok(ValueType::Number)) => read::<f64>(value)?.to_string(),
            (_, Ok(ValueType::Boolean)) => read::<bool>(value)?.to_string(),
            _ => self::text(name, value)?,
        };
        Ok((variable, text))
    }

    pub fn builder(&mut self) -> Builder {
        std::mem::take(&mut self.builder)
    }

    /// Names the option in place of its variable.
    pub fn explain(&self, error: Error) -> Error {
        let mut failure: Failure = error.failure().clone();
        if let Some(problem) = &mut failure.problem
            && let Some(option) = self.options.get(&problem.subject)
        {
            problem.subject = option.clone();
            if let Some(known) = problem.allowed.strip_prefix("VOICE_CALLING_") {
                problem.allowed = option_of(known);
            }
            failure.message = problem.to_string();
        }
        failure.into()
    }
}

/// Returns the variable of an option, without its prefix.
fn variable_of(option: &str) -> String {
    match option {
        "token" => "API_TOKEN".to_owned(),
        "timeoutMs" => "DEADLINE_MS".to_owned(),
        "maxRetries" => "MAX_ATTEMPTS".to_owned(),
        _ => option
            .chars()
            .fold(String::new(), |mut variable, character| {
                if character.is_ascii_uppercase() {
                    variable.push('_');
                }
                variable.push(character.to_ascii_uppercase());
                variable
            }),
    }
}

fn option_of(variable: &str) -> String {
    match variable {
        "API_TOKEN" => "token".to_owned(),
        "DEADLINE_MS" => "timeoutMs".to_owned(),
        "MAX_ATTEMPTS" => "maxRetries".to_owned(),
        _ => camel_case(&variable.to_ascii_lowercase()),
    }
}

/// Returns the members of an object that are neither `undefined` nor `null`.
fn entries<'a>(object: &Object<'a>) -> Vec<(String, Unknown<'a>)> {
    let names = Object::keys(object).unwrap_or_default().into_iter();
    let values = names.filter_map(|name| {
        let value: Unknown<'a> = object.get(&name).ok()??;
        let is_given = !matches!(value.get_type(), Ok(ValueType::Undefined | ValueType::Null));
        is_given.then_some((name, value))
    });
    values.collect()
}

fn object<'a>(name: &str, value: Unknown<'a>) -> Result<Object<'a>, Error> {
    match value.get_type() {
        Ok(ValueType::Object) => read(value),
        _ => Err(configuration_error(name, type_of(&value), "an object")),
    }
}

fn text(name: &str, value: Unknown<'_>) -> Result<String, Error> {
    match value.get_type() {
        Ok(ValueType::String) => read(value),
        _ => Err(configuration_error(name, type_of(&value), "text")),
    }
}

/// Reads certificates, as text or bytes.
fn pem(name: &str, value: Unknown<'_>) -> Result<Vec<u8>, Error> {
    match value.get_type() {
        Ok(ValueType::String) => read::<String>(value).map(String::into_bytes),
        _ => match read::<Uint8Array>(value) {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(_) => Err(configuration_error(
                name,
                type_of(&value),
                "PEM, as text or bytes",
            )),
        },
    }
}
