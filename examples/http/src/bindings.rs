//! The WIT in Rust.

wit_bindgen::generate!({ path: "../../wit", world: "consumer", generate_all });
