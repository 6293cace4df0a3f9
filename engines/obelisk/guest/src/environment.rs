//! The environment of a component, as WASI returns it.

/// Returns the value of a variable, or an empty string if it is not set.
pub fn variable<'a>(environment: &'a [(String, String)], name: &str) -> &'a str {
    let mut variables = environment.iter();
    let value = variables.find_map(|(key, value)| (key == name).then_some(value.as_str()));
    value.unwrap_or_default()
}
