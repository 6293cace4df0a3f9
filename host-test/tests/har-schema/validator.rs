//! Checks an archive by the JSON schema of HAR 1.2, which is in this folder as the npm
//! package `har-schema` 2.0.0 has it.

use serde_json::Value;

const SCHEMAS: [(&str, &str); 18] = [
    ("afterRequest", include_str!("afterRequest.json")),
    ("beforeRequest", include_str!("beforeRequest.json")),
    ("browser", include_str!("browser.json")),
    ("cache", include_str!("cache.json")),
    ("content", include_str!("content.json")),
    ("cookie", include_str!("cookie.json")),
    ("creator", include_str!("creator.json")),
    ("entry", include_str!("entry.json")),
    ("har", include_str!("har.json")),
    ("header", include_str!("header.json")),
    ("log", include_str!("log.json")),
    ("page", include_str!("page.json")),
    ("pageTimings", include_str!("pageTimings.json")),
    ("postData", include_str!("postData.json")),
    ("query", include_str!("query.json")),
    ("request", include_str!("request.json")),
    ("response", include_str!("response.json")),
    ("timings", include_str!("timings.json")),
];

/// Fails where the archive is not what the schema says.
pub fn assert_archive(archive: &Value) {
    let mut registry = jsonschema::Registry::new();
    for (name, schema) in SCHEMAS {
        let schema: Value = serde_json::from_str(schema).expect("a schema");
        let uri = format!("json-schema:///{name}.json");
        registry = registry.add(uri, schema).expect("a schema");
    }
    let registry = registry
        .prepare()
        .expect("schemas that refer to each other");
    let validator = jsonschema::options()
        .with_registry(&registry)
        .should_validate_formats(true)
        .build(&serde_json::json!({ "$ref": "json-schema:///har.json" }))
        .expect("a validator");
    let errors: Vec<_> = validator
        .iter_errors(archive)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{archive:#}");
}
