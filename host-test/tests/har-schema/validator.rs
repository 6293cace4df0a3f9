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
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.enable_format_assertions();
    let url = |name: &str| format!("https://har-schema.invalid/{name}.json");
    for (name, schema) in SCHEMAS {
        let schema = serde_json::from_str(schema).expect("a schema");
        compiler.add_resource(&url(name), schema).expect("a schema");
    }
    let har = compiler
        .compile(&url("har"), &mut schemas)
        .expect("schemas that refer to each other");
    let valid = schemas.validate(archive, har);
    assert!(valid.is_ok(), "{:#}\n{archive:#}", valid.unwrap_err());
}
