//! What users of a language call the functions, types and errors of the WIT: the same words in
//! all languages, each in its own spelling.
//!
//! In the WIT, version 2 of a creation has the longer name, since it came later. Users should find
//! it first.

use anyhow::{Context, Result};

/// Interface and function of the WIT, then the group of the client and the method in it.
const METHODS: [(&str, &str, &str, &str); 12] = [
    ("agents", "create-agent", "agents", "create"),
    ("agents", "list-agents", "agents", "list"),
    ("calls", "make-call", "calls", "make"),
    ("calls", "get-call-details", "calls", "get-details"),
    (
        "calls",
        "wait-for-call-details",
        "calls",
        "wait-for-details",
    ),
    ("dockets", "create-docket", "dockets", "create-v1"),
    ("dockets", "create-docket-v2", "dockets", "create"),
    ("dockets", "get-docket", "dockets", "get"),
    ("dockets", "wait-for-docket", "dockets", "wait-for"),
    ("bulk", "create-dockets-v2", "dockets", "create-many"),
    ("webhooks", "parse-docket-completed", "webhooks", "parse"),
    ("webhooks", "verify-docket-completed", "webhooks", "verify"),
];

/// Types whose names differ from the WIT's.
const TYPES: [(&str, &str); 4] = [
    ("docket-request", "docket-request-v1"),
    ("docket-request-v2", "docket-request"),
    ("created-docket", "created-docket-v1"),
    ("created-docket-v2", "created-docket"),
];

/// A method of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// `dockets`
    pub group: &'static str,
    /// `create-many`
    pub name: &'static str,
}

/// What a function is called. A new function of the WIT has no name until somebody gives it one.
pub fn method(interface: &str, function: &str) -> Result<Method> {
    let named = METHODS
        .iter()
        .find(|(i, f, ..)| (*i, *f) == (interface, function));
    let (.., group, name) = named.with_context(|| {
        format!("{interface}.{function} has no name in xtask/src/bindings/names.rs")
    })?;
    Ok(Method { group, name })
}

/// What a type is called, in kebab-case.
pub fn type_name(name: &str) -> &str {
    let renamed = TYPES.iter().find(|(wit, _)| *wit == name);
    renamed.map_or(name, |(_, renamed)| renamed)
}

/// What the exception of an error's case is called, in kebab-case. Whether it is permanent is an
/// attribute.
pub fn error_name(case: &str) -> &str {
    match case.strip_prefix("permanent-").unwrap_or(case) {
        "configuration" => "configuration-problem",
        name => name,
    }
}

/// What the base of an error's class is called, in kebab-case: whether the service answered. A
/// `permanent-outcome-unknown` is beneath neither, since it may have an answer, which was not
/// conclusive, or none.
pub fn error_base(case: &str) -> &'static str {
    match case {
        "permanent-unauthorized"
        | "permanent-not-found"
        | "permanent-rejected"
        | "permanent-unexpected-response"
        | "rate-limited"
        | "unavailable" => "service-error",
        "unreachable" | "timed-out" => "no-answer-error",
        _ => "request-error",
    }
}

/// `create-docket` as `create_docket`.
pub fn snake(name: &str) -> String {
    name.replace('-', "_")
}

/// `create-docket` as `CreateDocket`.
pub fn pascal(name: &str) -> String {
    name.split('-').map(capitalized).collect()
}

/// `create-docket` as `createDocket`.
pub fn camel(name: &str) -> String {
    let mut words = name.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |joined, word| joined + &capitalized(word))
}

/// `in-progress` as `IN_PROGRESS`, which is how the service writes its statuses.
pub fn screaming(name: &str) -> String {
    snake(name).to_uppercase()
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;
    use crate::bindings::model::Package;

    fn package() -> Package {
        Package::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")).unwrap()
    }

    #[test]
    fn every_function_has_a_name_of_its_own_and_no_name_is_left_over() {
        let mut names = BTreeSet::new();
        for interface in package().interfaces {
            for function in interface.functions {
                let method = method(&interface.name, &function.name).unwrap();
                assert!(names.insert((method.group, method.name)), "{method:?}");
            }
        }
        assert_eq!(names.len(), METHODS.len());
    }

    #[test]
    fn every_renamed_type_is_there_and_no_two_get_one_name() {
        let package = package();
        let mut names = BTreeSet::new();
        for ty in &package.types {
            assert!(names.insert(type_name(&ty.name)), "{}", ty.name);
        }
        for (wit, _) in TYPES {
            package.definition(wit).unwrap();
        }
    }

    #[test]
    fn a_name_is_spelt_as_each_language_spells_it() {
        let name = "retry-after-ms";
        assert_eq!(snake(name), "retry_after_ms");
        assert_eq!(pascal(name), "RetryAfterMs");
        assert_eq!(camel(name), "retryAfterMs");
        assert_eq!(screaming(name), "RETRY_AFTER_MS");
        assert_eq!(error_name("permanent-outcome-unknown"), "outcome-unknown");
        assert_eq!(
            error_name("permanent-configuration"),
            "configuration-problem"
        );
    }
}
