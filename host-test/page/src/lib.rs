//! The mock's page.
